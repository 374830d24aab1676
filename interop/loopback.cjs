// Preload for foreign servers that would listen on every interface: keeps them on the loopback one.
const net = require('node:net');
const listen = net.Server.prototype.listen;
net.Server.prototype.listen = function (first, ...rest) {
  if (typeof first === 'object' && first !== null && first.port !== undefined) return listen.call(this, { ...first, host: '127.0.0.1' }, ...rest);
  if (typeof first !== 'number' && typeof first !== 'string') return listen.call(this, first, ...rest);
  const after = rest.filter(a => typeof a !== 'string');
  return listen.call(this, Number(first), '127.0.0.1', ...after);
};
