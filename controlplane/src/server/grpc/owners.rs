//! Procedures that the operator calls about owners of organizations that were written as resources
//! (proto/operator.proto).

use chrono::SecondsFormat;
use platform::{App, Result};
use tonic::{Request, Response, Status};

use super::keys::proto::invitation::Status as InvitationStatus;
use super::keys::proto::owners_server::{Owners as Service, OwnersServer};
use super::keys::proto::{Invitation, InvitationDeliveredRequest, InviteRequest};
use super::keys::{id, of_operator, refused};
use crate::domain::tenancy::users::ownership::{self, Invited};

const MESSAGE_BYTES_MAX: usize = 4 * 1024;
/// Where a token is accepted.
const ACCEPT: &str = "/v1/auth/accept-invitation";

struct Owners {
    app: App,
}

pub fn service(app: App) -> OwnersServer<impl Service> {
    OwnersServer::new(Owners { app }).max_decoding_message_size(MESSAGE_BYTES_MAX)
}

#[tonic::async_trait]
impl Service for Owners {
    async fn invite(&self, request: Request<InviteRequest>) -> Result<Response<Invitation>, Status> {
        let asked = of_operator(request)?;
        let org_id = id("org_id", asked.org_id)?.into();
        self.answer(ownership::invite(&self.app, &org_id, asked.token_wanted).await)
    }

    async fn invitation_delivered(
        &self,
        request: Request<InvitationDeliveredRequest>,
    ) -> Result<Response<Invitation>, Status> {
        let org_id = id("org_id", of_operator(request)?.org_id)?.into();
        self.answer(ownership::delivered(&self.app, &org_id).await)
    }
}

impl Owners {
    fn answer(&self, told: Result<Invited>) -> Result<Response<Invitation>, Status> {
        let url = format!("{}{ACCEPT}", self.app.config().public_url());
        let invitation = match told.map_err(|error| refused(&error))? {
            Invited::Nobody => Invitation { status: InvitationStatus::Nobody.into(), ..Invitation::default() },
            Invited::Accepted { email } => {
                Invitation { status: InvitationStatus::Accepted.into(), email, ..Invitation::default() }
            }
            Invited::Open { email, expires_at, token } => Invitation {
                status: InvitationStatus::Open.into(),
                email,
                expires_at: expires_at.map(|at| at.to_rfc3339_opts(SecondsFormat::Micros, true)).unwrap_or_default(),
                url,
                token: token.map(|token| token.expose().clone()),
            },
        };
        Ok(Response::new(invitation))
    }
}

#[cfg(test)]
mod tests {
    use contract::wire::{OPERATOR_NAME, environment_name};
    use serde_json::json;
    use tonic::Code;
    use tonic::transport::Channel;

    use super::super::keys::proto::owners_client::OwnersClient;
    use super::*;
    use crate::server::grpc::tests::Served;

    struct Operator {
        served: Served,
        client: OwnersClient<Channel>,
        org_id: String,
    }

    impl Operator {
        /// With an organization whose owner is invited, as the follower of resources does it.
        async fn start() -> Self {
            let served = Served::start().await;
            let app = &served.world.app.app;
            let org_id = crate::worlds::organization(&served.world.app, "mirrored", "cloud").await;
            let email = platform::http::text::Email::try_from("ada@example.com".to_owned()).unwrap();
            let mut tx = app.pool().begin().await.unwrap();
            let origin = platform::events::Origin::system(app, org_id.clone());
            crate::domain::tenancy::users::invite_owner(app, &mut tx, &org_id, &email, origin).await.unwrap();
            tx.commit().await.unwrap();
            let client = OwnersClient::new(served.channel(&[OPERATOR_NAME]).await);
            Self { served, client, org_id: org_id.to_string() }
        }

        async fn invite(&mut self, token_wanted: bool) -> Invitation {
            let request = InviteRequest { org_id: self.org_id.clone(), token_wanted };
            self.client.invite(request).await.unwrap().into_inner()
        }

        async fn delivered(&mut self) -> Invitation {
            let request = InvitationDeliveredRequest { org_id: self.org_id.clone() };
            self.client.invitation_delivered(request).await.unwrap().into_inner()
        }

        async fn accepted(&self, token: &str) -> u16 {
            let body = json!({"token": token, "password": "correct horse battery", "name": "Ada"});
            self.served.world.app.post("/v1/auth/accept-invitation", "", body).await.status.as_u16()
        }
    }

    #[tokio::test]
    async fn a_token_is_given_afresh_until_it_was_delivered_and_makes_the_owner() {
        let mut operator = Operator::start().await;
        let [first, second] = [operator.invite(true).await, operator.invite(true).await];
        assert_eq!((second.status(), second.email.as_str()), (InvitationStatus::Open, "ada@example.com"));
        assert!(second.url.ends_with("/v1/auth/accept-invitation") && !second.expires_at.is_empty());
        assert_eq!(operator.accepted(&first.token.unwrap()).await, 401, "nobody has kept the first");
        operator.delivered().await;
        assert_eq!(operator.invite(true).await.token, None);
        assert_eq!(operator.accepted(&second.token.unwrap()).await, 200);
        let done = operator.invite(true).await;
        assert_eq!((done.status(), done.token), (InvitationStatus::Accepted, None));
        operator.served.stop();
    }

    #[tokio::test]
    async fn an_invitation_that_nobody_used_in_its_time_is_made_anew() {
        let mut operator = Operator::start().await;
        let first = operator.invite(true).await.token.unwrap();
        operator.delivered().await;
        operator.served.world.sql("update users set invitation_expires_at = '2020-01-01'").await;
        assert_eq!(operator.invite(false).await.token, None, "nobody wants it");
        let second = operator.invite(true).await.token.unwrap();
        assert_ne!(first, second);
        assert_eq!(operator.accepted(&second).await, 200);
        operator.served.stop();
    }

    #[tokio::test]
    async fn nobody_but_the_operator_is_told_and_an_unknown_organization_is_not_found() {
        let mut operator = Operator::start().await;
        operator.org_id = "nobody".to_owned();
        let request = InviteRequest { org_id: operator.org_id.clone(), token_wanted: true };
        assert_eq!(operator.client.invite(request.clone()).await.unwrap_err().code(), Code::NotFound);
        let name = environment_name(&operator.served.world.env_id);
        let mut other = OwnersClient::new(operator.served.channel(&[&name]).await);
        assert_eq!(other.invite(request).await.unwrap_err().code(), Code::PermissionDenied);
        operator.served.stop();
    }
}
