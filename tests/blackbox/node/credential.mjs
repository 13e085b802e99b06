// A way to $SLUICE_MCP_URL that brings the credential along, for clients that can send none: prints its port.
import http from "node:http";

const target = new URL(process.env.SLUICE_MCP_URL);

const server = http.createServer((request, response) => {
  const headers = { ...request.headers, authorization: `ApiKey ${process.env.SLUICE_KEY}` };
  const { hostname, port } = target;
  const onward = http.request({ hostname, port, path: request.url, method: request.method, headers }, (answer) => {
    response.writeHead(answer.statusCode, answer.headers);
    answer.pipe(response);
  });
  onward.on("error", () => response.destroy());
  response.on("close", () => onward.destroy());
  request.pipe(onward);
});

server.listen(0, "127.0.0.1", () => console.log(server.address().port));
