// Preload for foreign servers over HTTP, which would listen on every interface and for ever: it keeps them on a free
// port of the loopback interface, prints LISTEN host:port on standard error, and ends them when their standard input does.
const net = require('node:net');
const listen = net.Server.prototype.listen;
net.Server.prototype.listen = function (_port, ...rest) {
  const after = rest.filter(argument => typeof argument === 'function');
  this.once('listening', () => console.error(`LISTEN 127.0.0.1:${this.address().port}`));
  return listen.call(this, 0, '127.0.0.1', ...after);
};
process.stdin.on('end', () => process.exit(0)).resume();
