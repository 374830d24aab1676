// A server of the framework fastmcp for Node.
//
//   node fastmcp.mjs stdio
//   PORT=N node -r ./loopback.cjs fastmcp.mjs http   at /mcp
import { FastMCP, UserError } from 'fastmcp';
import { z } from 'zod';

const s = new FastMCP({ name: 'fastmcp', version: '1.0.0', logger: { debug() {}, info() {}, log() {}, warn() {}, error() {} } });
const scheme = (process.env.SCHEME ?? 'note') + '://'; // of its own for each server behind one host
const tool = (name, parameters, execute) => s.addTool({ name, description: name, parameters: z.object(parameters), execute });

tool('add', { a: z.number(), b: z.number() }, async ({ a, b }) => String(a + b));
tool('echo', { text: z.string() }, async ({ text }) => text);
tool('fail', {}, async () => { throw new UserError('it did not work'); });
tool('steps', { n: z.number() }, async ({ n }, { reportProgress }) => {
  for (let progress = 1; progress <= n; progress++) await reportProgress({ progress, total: n });
  return 'done';
});
tool('wait', {}, () => new Promise(() => {}));
tool('waits', {}, async () => '0');
tool('log', { text: z.string() }, async ({ text }, { log }) => { log.info(text); return 'logged'; });
tool('grow', { name: z.string() }, async ({ name }) => {
  await new Promise(done => setTimeout(done, 200)); // a change within 100 ms of initialize never reaches the session
  setTimeout(() => tool(name, {}, async () => 'I am ' + name));
  return 'grown';
});
const complete = async typed => ({ values: ['Ada', 'Alan', 'Grace'].filter(name => name.toLowerCase().startsWith(typed.toLowerCase())) });
s.addResource({ uri: scheme + 'hello', name: 'hello', mimeType: 'text/plain', load: async () => ({ text: 'hello' }) });
s.addResourceTemplate({
  uriTemplate: scheme + 'by/{name}', name: 'by name', mimeType: 'text/plain',
  arguments: [{ name: 'name', complete }],
  load: async ({ name }) => ({ text: 'a note by ' + name }),
});
s.addPrompt({ name: 'greet', arguments: [{ name: 'name', required: true, complete }], load: async ({ name }) => 'Greet ' + name });

await s.start(process.argv[2] === 'stdio' ? { transportType: 'stdio' } : { transportType: 'httpStream', httpStream: { port: 8080 } });
