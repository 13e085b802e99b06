use contract::Redacted;

#[tokio::test]
async fn settings_that_would_show_mail_to_the_network_are_refused() {
    let mut config = crate::Config::new(String::new(), contract::Keyring::new([7; 32]));
    config.smtp_url = Some(Redacted::new("smtp://user:hush@mail.example.com".to_owned()));
    let refused = super::MailTransport::of(&config).err().unwrap().to_string();
    assert!(refused.contains("tls=required") && !refused.contains("hush"), "{refused}");
}
