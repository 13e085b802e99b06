-- Who was given a text, in a session of their own. Null: whoever asked by a key, or is not known; others may have it.
alter table api_key_secrets add column given_to text;
