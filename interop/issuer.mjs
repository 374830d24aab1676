// An authorization server with everything that a client or a protected server of MCP may use of one: oidc-provider over
// https. CONFIG is its JSON: the clients that are known before, and whether authorization requests have to be pushed.
//
//   PORT=0 TLS_CERT=FILE TLS_KEY=FILE NODE_EXTRA_CA_CERTS=FILE node -r ./loopback.cjs issuer.mjs CONFIG
//
// What kind of access tokens a resource gets is in its path: /opaque/… gets tokens to introspect, /brief/… such that
// last a second, and every other one JWTs. For the tests there is besides
//
//   POST /rotate   a new key signs from now on; the one before is still published
//   GET  /events   what has happened at the endpoints, oldest first
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import Provider from 'oidc-provider';

const { clients, pushed } = JSON.parse(process.argv[2]);
const scopes = ['notes:read', 'notes:write'];
const cookieKeys = [randomBytes(32).toString('hex')];
const nonceSecret = randomBytes(32);
const events = [];
let issuer, keys = [], answer;

const newKey = () => ({
  ...generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' }),
  kid: randomBytes(8).toString('hex'), alg: 'ES256', use: 'sig',
});

const resourceServer = (ctx, resource) => {
  const [, kind] = new URL(resource).pathname.split('/');
  return {
    audience: resource, scope: scopes.join(' '),
    accessTokenTTL: kind === 'brief' ? 1 : 3600,
    accessTokenFormat: kind === 'opaque' ? 'opaque' : 'jwt', jwt: { sign: { alg: 'ES256' } },
  };
};

const lifetime = (ctx, token) => token.resourceServer?.accessTokenTTL ?? 3600;

// renew replaces the provider, whose keys cannot change. What it has stored it shares with the one before.
function renew() {
  keys = [newKey(), ...keys].slice(0, 2);
  const provider = new Provider(issuer, {
    clients, scopes: ['openid', 'offline_access', ...scopes], jwks: { keys }, cookies: { keys: cookieKeys },
    clientDefaults: { id_token_signed_response_alg: 'ES256' }, responseTypes: ['code'],
    issueRefreshToken: (ctx, client) => client.grantTypeAllowed('refresh_token'),
    findAccount: (ctx, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
    // Its own fetch refuses loopback, where the metadata documents of the tests are.
    fetch: (url, { dispatcher, ...options }) => fetch(url, options),
    ttl: { AccessToken: lifetime, ClientCredentials: lifetime, Grant: 3600, IdToken: 3600, Interaction: 600, RefreshToken: 86400, Session: 3600 },
    features: {
      clientCredentials: { enabled: true }, clientIdMetadataDocument: { enabled: true, ack: 'draft-02' },
      devInteractions: { enabled: true }, dPoP: { enabled: true, nonceSecret, requireNonce: () => true },
      introspection: { enabled: true }, pushedAuthorizationRequests: { enabled: true, requirePushedAuthorizationRequests: pushed },
      registration: { enabled: true }, revocation: { enabled: true },
      resourceIndicators: { enabled: true, getResourceServerInfo: resourceServer },
    },
  });
  for (const name of ['authorization.success', 'grant.success', 'pushed_authorization_request.success', 'registration_create.success']) {
    provider.on(name, (ctx, client) => events.push({
      event: name.replace('.success', ''), client: (ctx.oidc.client ?? client)?.clientId, grant: ctx.oidc.params?.grant_type,
      resource: ctx.oidc.params?.resource, pushed: !!ctx.oidc.entities?.PushedAuthorizationRequest, proof: 'dpop' in ctx.headers,
    }));
  }
  provider.on('server_error', (ctx, err) => console.error(err));
  answer = provider.callback();
}

const server = createServer({ cert: readFileSync(process.env.TLS_CERT), key: readFileSync(process.env.TLS_KEY) }, (req, res) => {
  if (req.url === '/rotate' && req.method === 'POST') {
    renew();
    res.writeHead(204).end();
  } else if (req.url === '/events') {
    res.setHeader('Content-Type', 'application/json').end(JSON.stringify(events));
  } else {
    answer(req, res);
  }
});
server.once('listening', () => {
  issuer = `https://127.0.0.1:${server.address().port}`;
  renew();
});
server.listen(process.env.PORT);
