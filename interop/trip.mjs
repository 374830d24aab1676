// A server with one tool that asks the user twice and the model once, in one call, and tells how often it was run for that,
// over standard streams.
//
//   node trip.mjs 1   of the first TypeScript SDK, of the session era alone: it asks in mid-call
//   node trip.mjs 2   of the newest, both eras: it asks by rounds
const newest = process.argv[2] === '2';

const requestedSchema = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };
const questions = ['Who comes along?', 'Who stays?'].map(message => ({ mode: 'form', message, requestedSchema }));
const ode = { messages: [{ role: 'user', content: { type: 'text', text: 'An ode' } }], maxTokens: 100 };
let runs = 0;

function tell([one, other, words]) {
  const text = `${one} and ${other}: ${words}, ${runs} run`;
  runs = 0;
  return { content: [{ type: 'text', text }] };
}

async function first() {
  const { McpServer } = await import('@modelcontextprotocol/sdk/server/mcp.js');
  const { StdioServerTransport } = await import('@modelcontextprotocol/sdk/server/stdio.js');
  const s = new McpServer({ name: 'trip', version: '1.0.0' });
  s.registerTool('trip', { description: 'Asks in mid-call' }, async () => {
    runs++;
    const said = [];
    for (const question of questions) said.push((await s.server.elicitInput(question)).content.name);
    return tell([...said, (await s.server.createMessage(ode)).content.text]);
  });
  await s.connect(new StdioServerTransport());
}

async function second() {
  const { McpServer, inputRequired } = await import('@modelcontextprotocol/server');
  const { serveStdio } = await import('@modelcontextprotocol/server/stdio');
  const asks = [...questions.map(inputRequired.elicit), inputRequired.createMessage(ode)];
  await serveStdio(() => {
    const s = new McpServer({ name: 'trip', version: '1.0.0' });
    s.registerTool('trip', { description: 'Asks by rounds' }, async c => {
      const said = JSON.parse(c.mcpReq.requestState() ?? '[]');
      if (said.length === 0) runs = 1;
      const { answer } = c.mcpReq.inputResponses ?? {};
      if (answer) said.push(answer.content.name ?? answer.content.text);
      if (said.length === asks.length) return tell(said);
      return inputRequired({ inputRequests: { answer: asks[said.length] }, requestState: JSON.stringify(said) });
    });
    return s;
  });
}

await (newest ? second : first)();
