//! Where clouds say who somebody is.

/// The parties that are asked, of the public clouds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clouds {
    /// Issues the tokens of service accounts of GCP.
    pub gcp_issuer: String,
    /// Issues the tokens of an Azure directory, whose id stands for `{tenant_id}`.
    pub azure_issuer: String,
    /// Says who has signed a request of AWS, in the `{region}` it was signed for.
    pub aws_sts: String,
}

impl Default for Clouds {
    fn default() -> Self {
        Self {
            gcp_issuer: "https://accounts.google.com".to_owned(),
            azure_issuer: "https://login.microsoftonline.com/{tenant_id}/v2.0".to_owned(),
            aws_sts: "https://sts.{region}.amazonaws.com/".to_owned(),
        }
    }
}
