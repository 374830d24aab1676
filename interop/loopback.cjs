// Preload for foreign servers over HTTP, which would listen on every interface and for ever: it keeps them on the port
// PORT of the loopback interface, or a free one if that is 0, prints LISTEN host:port on standard error, and ends them when their standard input does.
const net = require('node:net');
const listen = net.Server.prototype.listen;
net.Server.prototype.listen = function (_port, ...rest) {
  const after = rest.filter(argument => typeof argument === 'function');
  this.once('listening', () => console.error(`LISTEN 127.0.0.1:${this.address().port}`));
  return listen.call(this, Number(process.env.PORT), '127.0.0.1', ...after);
};
process.stdin.on('end', () => process.exit(0)).resume();
