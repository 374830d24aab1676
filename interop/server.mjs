// A server of the TypeScript SDK, with the tools that the tests expect.
//
//   node server.mjs stdio
//   node server.mjs http        prints LISTEN host:port on standard error
import { createServer } from 'node:http';
import { Readable } from 'node:stream';
import { McpServer, createMcpHandler } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

function build() {
  const s = new McpServer({ name: 'typescript', version: '2' }, { capabilities: { tools: { listChanged: true }, logging: {} } });
  s.registerTool('add', { description: 'adds', inputSchema: z.object({ a: z.number(), b: z.number() }), outputSchema: z.object({ sum: z.number() }) },
    async ({ a, b }) => ({ content: [{ type: 'text', text: String(a + b) }], structuredContent: { sum: a + b } }));
  s.registerTool('echo', { description: 'echoes', inputSchema: z.object({ text: z.string() }) },
    async ({ text }) => ({ content: [{ type: 'text', text }] }));
  s.registerTool('steps', { description: 'reports progress', inputSchema: z.object({ n: z.number() }) }, async ({ n }, c) => {
    const token = c.mcpReq?._meta?.progressToken;
    for (let i = 1; i <= n && token !== undefined; i++) {
      await c.mcpReq.notify({ method: 'notifications/progress', params: { progressToken: token, progress: i, total: n } });
    }
    return { content: [{ type: 'text', text: 'done' }] };
  });
  s.registerTool('wait', { description: 'waits', inputSchema: z.object({}) }, async (_in, c) => {
    await new Promise(r => { const t = setTimeout(r, 10_000); c.mcpReq?.signal?.addEventListener('abort', () => { clearTimeout(t); r(); }); });
    return { content: [{ type: 'text', text: 'waited' }] };
  });
  s.registerResource('hello', 'note://hello', { mimeType: 'text/plain' }, async uri => ({ contents: [{ uri: uri.href, mimeType: 'text/plain', text: 'hello' }] }));
  s.registerPrompt('greet', { description: 'greets', argsSchema: z.object({ name: z.string() }) },
    ({ name }) => ({ messages: [{ role: 'user', content: { type: 'text', text: 'Greet ' + name } }] }));
  return s;
}

if (process.argv[2] === 'stdio') {
  serveStdio(build);
} else {
  const handler = createMcpHandler(build, { legacy: 'stateless' });
  const web = createServer(async (req, res) => {
    const gone = new AbortController();
    res.on('close', () => gone.abort());
    const body = ['GET', 'HEAD'].includes(req.method) ? undefined : Buffer.concat(await req.toArray());
    const headers = new Headers(Object.entries(req.headers).map(([k, v]) => [k, String(v)]));
    try {
      const answer = await handler.fetch(new Request(`http://${req.headers.host}${req.url}`, { method: req.method, headers, body, signal: gone.signal }));
      res.writeHead(answer.status, Object.fromEntries(answer.headers));
      res.flushHeaders();
      if (answer.body) Readable.fromWeb(answer.body).on('error', () => res.destroy()).pipe(res);
      else res.end();
    } catch (e) {
      res.writeHead(500).end(String(e));
    }
  });
  web.listen(0, '127.0.0.1', () => console.error(`LISTEN 127.0.0.1:${web.address().port}`));
}
