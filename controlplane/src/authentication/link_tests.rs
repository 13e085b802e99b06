
#[tokio::test]
async fn an_invitation_is_mailed_and_its_page_accepts_it() {
    let (app, mut server, opened) = ada().await;
    let body = json!({"email": "bob@example.com", "role": "analyst"});
    app.post(&app.org(&opened, "/users/invite"), &bearer(&opened), body).await.expect(201);
    app.post_mail().await;
    let mail = server.one();
    assert_eq!((mail.to.as_str(), mail.header("Subject")), ("bob@example.com", "Invitation to Acme"));
    let page = app.get(&format!("/v1/auth/accept-invitation?token={}", mail.token()), "").await;
    assert!(page.body.as_str().unwrap().contains("action=\"/v1/auth/accept-invitation\""), "{}", page.body);
    let form = format!("token={}&name=&totp=&password=correct+horse+battery", mail.token());
    let request = Request::post("/v1/auth/accept-invitation").header("content-type", "application/x-www-form-urlencoded");
    let opened = app.send(request.body(Body::from(form)).unwrap()).await.expect(200);
    assert_eq!((&opened["user"]["email"], &opened["user"]["role"]), (&json!("bob@example.com"), &json!("analyst")));
}
