-- When the token of an invitation was put where whoever it invites can be given it: then it is not
-- given again. Null also for invitations whose token was answered to whoever made them.
alter table users add column invitation_delivered_at timestamptz;
