// A server of @modelcontextprotocol/server, the TypeScript SDK, to be measured. Its flags
// are those of bench/internal/contest.
import { createServer } from 'node:http';
import { randomUUID } from 'node:crypto';
import { McpServer, createMcpHandler, fromJsonSchema } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { NodeStreamableHTTPServerTransport, toNodeHandler } from '@modelcontextprotocol/node';
import * as z from 'zod';

const opt = { mode: 'stdio', era: '26', resp: 'json', addr: '127.0.0.1:0', tools: '0' };
for (let i = 2; i < process.argv.length; i++) {
  const m = /^--?([a-z]+)(?:=(.*))?$/.exec(process.argv[i]);
  if (m) opt[m[1]] = m[2] ?? process.argv[++i];
}

const URI = 'bench://item';
const line = 'The quick brown fox jumps over the lazy dog 0123456789 abcdef. ';
const BIG = line.repeat(Math.ceil((100 << 10) / line.length)).slice(0, 100 << 10);
const MAX = 64 << 20;

// Schemas are built once and shared by every server instance.
const echoIn = z.object({ text: z.string() });
const addIn = z.object({ a: z.number(), b: z.number() });
const addOut = z.object({ sum: z.number() });
const extra = Array.from({ length: Number(opt.tools) }, (_, i) => ({
  name: `tool_${String(i).padStart(5, '0')}`,
  description: `Generated tool number ${i}: looks up records that match a query and returns them as text.`,
  inputSchema: fromJsonSchema({
    type: 'object',
    properties: {
      query: { type: 'string', description: 'The text to look for.' },
      limit: { type: 'integer', minimum: 1, maximum: 100, description: 'At most this many records.' },
      exact: { type: 'boolean', description: 'Whether to match exactly.' }
    },
    required: ['query'],
    additionalProperties: false
  })
}));

function build() {
  const s = new McpServer({ name: 'typescript', version: '1.0.0' }, { capabilities: { resources: { subscribe: true } } });
  s.registerTool('echo', { description: 'Returns its argument.', inputSchema: echoIn },
    async ({ text }) => ({ content: [{ type: 'text', text }] }));
  s.registerTool('add', { description: 'Adds two numbers.', inputSchema: addIn, outputSchema: addOut },
    async ({ a, b }) => {
      const structuredContent = { sum: a + b };
      return { content: [{ type: 'text', text: JSON.stringify(structuredContent) }], structuredContent };
    });
  s.registerTool('big', { description: 'Returns 100 KiB of text.' },
    async () => ({ content: [{ type: 'text', text: BIG }] }));
  for (const t of extra) {
    s.registerTool(t.name, { description: t.description, inputSchema: t.inputSchema },
      async () => ({ content: [{ type: 'text', text: 'ok' }] }));
  }
  s.registerResource('item', URI, {}, async () => ({ contents: [{ uri: URI, text: 'x' }] }));
  return s;
}

if (opt.mode === 'stdio') {
  serveStdio(build);
} else {
  let handle, notify;
  if (opt.era === '26') {
    const h = createMcpHandler(build, { legacy: 'reject', responseMode: opt.resp, maxSubscriptions: 20000, maxRequestBodySize: MAX });
    handle = toNodeHandler(h, { maxRequestBodySize: MAX });
    notify = () => h.notify.resourceUpdated(URI);
  } else {
    // As its documentation has it: one server and one transport for each session.
    const sessions = new Map();
    const subs = new Set();
    handle = async (req, res) => {
      const id = req.headers['mcp-session-id'];
      let e = id ? sessions.get(id) : undefined;
      if (!e) {
        if (id) { res.writeHead(404).end(); return; }
        const server = build();
        server.server.setRequestHandler('resources/subscribe', async () => { subs.add(server); return {}; });
        server.server.setRequestHandler('resources/unsubscribe', async () => { subs.delete(server); return {}; });
        const transport = new NodeStreamableHTTPServerTransport({
          sessionIdGenerator: () => randomUUID(),
          enableJsonResponse: opt.resp === 'json',
          maxRequestBodySize: MAX,
          onsessioninitialized: sid => { sessions.set(sid, e); }
        });
        e = { server, transport };
        await server.connect(transport);
      }
      await e.transport.handleRequest(req, res);
    };
    notify = () => { for (const s of subs) s.server.sendResourceUpdated({ uri: URI }).catch(() => {}); };
  }
  const [host, port] = opt.addr.split(':');
  const http = createServer((req, res) => {
    if (req.url === '/mcp') { handle(req, res).catch(e => { console.error(e); res.destroy(); }); return; }
    if (req.url === '/admin/update') { res.writeHead(204).end(); setImmediate(notify); return; }
    if (req.url === '/admin/gc') { globalThis.gc?.(); res.writeHead(204).end(); return; }
    res.writeHead(404).end();
  });
  // A connection that waits while others are measured stays.
  http.keepAliveTimeout = 600000;
  http.requestTimeout = 0;
  http.listen({ host, port: Number(port), backlog: 4096 }, () => console.error(`LISTEN ${host}:${http.address().port}`));
}
