// Preload for the suite, whose servers would listen on every interface: it keeps them on the loopback interface. The
// suite reads the port right after listen(), so nothing here may wait for a name to be looked up.
const net = require('node:net');
const everywhere = [null, undefined, '', '::', '0.0.0.0'];
const setUp = net.Server.prototype._listen2;
net.Server.prototype._listen2 = function (address, port, addressType, ...rest) {
  const network = port >= 0 && everywhere.includes(address);
  return network
    ? setUp.call(this, '127.0.0.1', port, 4, ...rest)
    : setUp.call(this, address, port, addressType, ...rest);
};
