//! Credentials that a data plane's surroundings give it: the role of its service account, or an access key.
//!
//! Of what the surroundings say, only who asks is taken: where a store is, its integration says. The metadata address of a
//! node is never asked: the role there is that of every pod on it.

use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};

/// What makes a store whose requests are signed so; none: the surroundings give no credentials.
pub(super) fn signed_by(around: &AmazonS3Builder) -> Option<AmazonS3Builder> {
    use AmazonS3ConfigKey::{
        AccessKeyId, RoleArn, RoleSessionName, SecretAccessKey, StsEndpoint, Token, WebIdentityTokenFile,
    };
    let role = || taken(around, &[RoleArn, WebIdentityTokenFile], &[RoleSessionName, StsEndpoint]);
    role().or_else(|| taken(around, &[AccessKeyId, SecretAccessKey], &[Token]))
}

/// These of the settings and nothing else; none where one that is needed is not there.
fn taken(
    around: &AmazonS3Builder,
    needed: &[AmazonS3ConfigKey],
    optional: &[AmazonS3ConfigKey],
) -> Option<AmazonS3Builder> {
    let given = |key: &AmazonS3ConfigKey| around.get_config_value(key).filter(|value| !value.is_empty());
    let mut builder = AmazonS3Builder::new();
    for key in needed {
        builder = builder.with_config(*key, given(key)?);
    }
    for key in optional {
        if let Some(value) = given(key) {
            builder = builder.with_config(*key, value);
        }
    }
    Some(builder)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn around(settings: &[(AmazonS3ConfigKey, &str)]) -> AmazonS3Builder {
        settings.iter().fold(AmazonS3Builder::new(), |builder, (key, value)| builder.with_config(*key, *value))
    }

    #[test]
    fn only_who_asks_is_taken_of_the_surroundings_and_a_role_before_a_key() {
        use AmazonS3ConfigKey::{AccessKeyId, Endpoint, RoleArn, S3Endpoint, SecretAccessKey, WebIdentityTokenFile};
        let given = [
            (RoleArn, "arn:aws:iam::1:role/lake"),
            (WebIdentityTokenFile, "/var/run/token"),
            (AccessKeyId, "AKID"),
            (SecretAccessKey, "secret"),
            (Endpoint, "http://169.254.169.254"),
            (S3Endpoint, "http://169.254.169.254"),
        ];
        let taken = signed_by(&around(&given)).unwrap();
        let has = |key: AmazonS3ConfigKey| taken.get_config_value(&key).is_some();
        assert!(has(RoleArn) && has(WebIdentityTokenFile));
        for other in [AccessKeyId, SecretAccessKey, Endpoint, S3Endpoint] {
            assert!(!has(other), "{other:?}");
        }
        let key = signed_by(&around(&given[1..])).unwrap();
        assert_eq!(key.get_config_value(&AccessKeyId).as_deref(), Some("AKID"));
        assert_eq!(key.get_config_value(&WebIdentityTokenFile), None);
    }

    #[test]
    fn surroundings_that_say_half_of_it_give_none_and_no_node_is_asked() {
        use AmazonS3ConfigKey::{AccessKeyId, ContainerCredentialsRelativeUri, MetadataEndpoint, RoleArn};
        for given in [
            &[(RoleArn, "arn:aws:iam::1:role/lake")][..],
            &[],
            &[(AccessKeyId, "AKID")],
            &[(AccessKeyId, "")],
            &[(ContainerCredentialsRelativeUri, "/v2/credentials"), (MetadataEndpoint, "http://169.254.169.254")],
        ] {
            assert!(signed_by(&around(given)).is_none(), "{given:?}");
        }
    }
}
