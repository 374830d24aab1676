// The fixture once more, as a server of the TypeScript SDK: the same tools, resources and prompts.
//
//   node server.mjs stdio                               both eras
//   PORT=N node -r ./loopback.cjs server.mjs http       at /mcp both eras, the session era with sessions
//   PORT=N node -r ./loopback.cjs server.mjs stateless  at /mcp both eras, without sessions
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { Readable } from 'node:stream';
import {
  McpServer, ResourceTemplate, WebStandardStreamableHTTPServerTransport,
  acceptedContent, completable, createMcpHandler, inputRequired, isLegacyRequest,
} from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

const starting = typed => ['Ada', 'Alan', 'Grace'].filter(name => name.toLowerCase().startsWith(typed.toLowerCase()));
const text = said => ({ content: [{ type: 'text', text: said }] });
const sleep = ms => new Promise(done => setTimeout(done, ms));

// What all instances share: over HTTP the SDK wants one instance for each session or, without sessions, each request.
const grown = new Set();
const waiting = new Set();
let counter = 0;

// build makes one instance. Announce tells clients of the stateless era over HTTP what has changed; elsewhere the
// instance does so itself.
function build(announce) {
  const s = new McpServer({ name: 'typescript', version: '2' }, {
    capabilities: { tools: { listChanged: true }, resources: { subscribe: true, listChanged: true }, logging: {} },
  });
  addTools(s, announce);
  for (const name of grown) addGrown(s, name);
  addResources(s);
  s.registerPrompt('greet', { description: 'greets', argsSchema: z.object({ name: completable(z.string(), starting) }) },
    ({ name }) => ({ messages: [{ role: 'user', content: { type: 'text', text: 'Greet ' + name } }] }));
  return s;
}

function addTools(s, announce) {
  const tool = (name, inputs, run, outputSchema) => s.registerTool(name, { description: name, inputSchema: z.object(inputs), outputSchema }, run);
  tool('add', { a: z.number(), b: z.number() }, async ({ a, b }) => ({ ...text(`{"sum":${a + b}}`), structuredContent: { sum: a + b } }), z.object({ sum: z.number() }));
  tool('echo', { text: z.string() }, async args => text(args.text));
  tool('fail', {}, async () => { throw new Error('it did not work'); });
  tool('steps', { n: z.number() }, async ({ n }, c) => {
    const progressToken = c.mcpReq._meta?.progressToken;
    for (let i = 1; i <= n && progressToken !== undefined; i++) {
      await c.mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress: i, total: n } });
      await sleep(10);
    }
    return text('done');
  });
  tool('wait', {}, async (_, c) => {
    waiting.add(c);
    await new Promise(done => c.mcpReq.signal.addEventListener('abort', done));
    waiting.delete(c);
    return text('waited');
  });
  tool('idle', {}, async () => { // answers once no wait goes on
    for (let i = 0; i < 200 && waiting.size > 0; i++) await sleep(10);
    return text(waiting.size > 0 ? 'a wait goes on' : 'idle');
  });
  tool('log', { text: z.string() }, async (args, c) => { await c.mcpReq.log('info', { msg: args.text }); return text('logged'); });
  tool('touch', {}, async () => {
    counter++;
    const uri = 'note://counter';
    if (announce) announce.resourceUpdated(uri); else await s.server.sendResourceUpdated({ uri });
    return text(String(counter));
  });
  tool('grow', { name: z.string() }, async ({ name }) => {
    grown.add(name);
    if (announce) announce.toolsChanged(); else addGrown(s, name);
    return text('grown');
  });
  tool('ask', {}, async (_, c) => {
    const answer = acceptedContent(c.mcpReq.inputResponses, 'who');
    if (answer) return text('Hello, ' + answer.name);
    const requestedSchema = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };
    return inputRequired({ inputRequests: { who: inputRequired.elicit({ mode: 'form', message: 'Your name?', requestedSchema }) } });
  });
}

function addGrown(s, name) {
  s.registerTool(name, { description: 'grown', inputSchema: z.object({}) }, async () => text('I am ' + name));
}

function addResources(s) {
  const one = (uri, said) => ({ contents: [{ uri: uri.href, mimeType: 'text/plain', text: said }] });
  s.registerResource('hello', 'note://hello', { mimeType: 'text/plain' }, async uri => one(uri, 'hello'));
  s.registerResource('counter', 'note://counter', { mimeType: 'text/plain' }, async uri => one(uri, String(counter)));
  s.registerResource('by name', new ResourceTemplate('note://by/{name}', { list: undefined, complete: { name: starting } }), { mimeType: 'text/plain' },
    async (uri, { name }) => one(uri, 'a note by ' + name));
  s.server.setRequestHandler('resources/subscribe', async () => ({}));
  s.server.setRequestHandler('resources/unsubscribe', async () => ({}));
}

// withSessions serves the stateless era as it is, and the session era with sessions.
function withSessions() {
  const modern = createMcpHandler(() => build(modern.notify), { legacy: 'reject' });
  const sessions = new Map();
  return async request => {
    if (!await isLegacyRequest(request.clone())) return modern.fetch(request);
    const id = request.headers.get('mcp-session-id');
    if (id !== null) return sessions.get(id)?.handleRequest(request) ?? new Response('no such session', { status: 404 });
    const session = new WebStandardStreamableHTTPServerTransport({ sessionIdGenerator: randomUUID, onsessioninitialized: id => { sessions.set(id, session); } });
    session.onclose = () => sessions.delete(session.sessionId);
    await build().connect(session);
    return session.handleRequest(request);
  };
}

function withoutSessions() {
  const both = createMcpHandler(() => build(both.notify), { legacy: 'stateless' });
  return both.fetch;
}

// listen gives the requests of Node to a handler of web requests.
function listen(handle) {
  const web = createServer(async (req, res) => {
    const gone = new AbortController();
    res.on('close', () => gone.abort());
    const body = ['GET', 'HEAD'].includes(req.method) ? undefined : Buffer.concat(await req.toArray());
    const headers = new Headers(Object.entries(req.headers).map(([name, value]) => [name, String(value)]));
    try {
      const answer = await handle(new Request(`http://${req.headers.host}${req.url}`, { method: req.method, headers, body, signal: gone.signal }));
      res.writeHead(answer.status, Object.fromEntries(answer.headers));
      res.flushHeaders();
      if (answer.body) Readable.fromWeb(answer.body).on('error', () => res.destroy()).pipe(res);
      else res.end();
    } catch (e) {
      res.writeHead(500).end(String(e));
    }
  });
  web.listen(process.env.PORT);
}

const modes = { stdio: () => serveStdio(() => build()), http: () => listen(withSessions()), stateless: () => listen(withoutSessions()) };
modes[process.argv[2]]();
