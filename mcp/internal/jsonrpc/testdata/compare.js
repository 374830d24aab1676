// Reads lines of two texts in base64: a message, and what our decoder has made of it. Prints
// the numbers of the lines in which JSON.parse reads something else.
const lines = require("fs").readFileSync(0, "latin1").split("\n").filter((line) => line);

// hasDuplicates reports whether an object in a text that JSON.parse accepts has a member twice.
function hasDuplicates(text) {
	const open = []; // the names of each open object, or null for an array
	const tokens = /"(?:[^"\\]|\\.)*"|[{}[\],:]/g;
	for (let token, name = null; (token = tokens.exec(text)) !== null; ) {
		const names = open[open.length - 1];
		switch (token[0]) {
			case "{": open.push(new Set()); break;
			case "[": open.push(null); break;
			case "}": case "]": open.pop(); break;
			case ",": break;
			case ":":
				if (names.has(name)) return true;
				names.add(name);
				break;
			default: name = JSON.parse(token[0]);
		}
	}
	return false;
}

// wellFormed replaces what is not Unicode as our decoder does. How many characters replace bytes
// that are no UTF-8 differs between decoders.
function wellFormed(value) {
	if (typeof value === "string") return value.toWellFormed().replace(/\ufffd+/g, "\ufffd");
	if (Array.isArray(value)) return value.map(wellFormed);
	if (value === null || typeof value !== "object") return value;
	return Object.fromEntries(Object.entries(value).map(([name, v]) => [wellFormed(name), wellFormed(v)]));
}

// message returns the members that a message has, without those that mean the same as none.
function message(value) {
	const m = {};
	for (const name of ["jsonrpc", "id", "method", "params", "result"]) {
		if (Object.hasOwn(value, name) && !(name === "params" && value[name] === null)) m[name] = wellFormed(value[name]);
	}
	if (Object.hasOwn(value, "error") && value.error !== null) {
		m.error = { code: value.error.code, message: wellFormed(value.error.message), data: wellFormed(value.error.data ?? null) };
	}
	return m;
}

lines.forEach((line, i) => {
	const [theirs, ours] = line.split(" ").map((text) => Buffer.from(text, "base64").toString("utf8"));
	let reason = "";
	try {
		const value = JSON.parse(theirs);
		if (Object.hasOwn(value, "method") && hasDuplicates(theirs)) reason = "a member twice";
		else require("assert").deepStrictEqual(message(value), message(JSON.parse(ours)));
	} catch (error) {
		reason = String(error.message).replace(/\s+/g, " ");
	}
	if (reason) console.log(i, reason);
});
console.log("compared", lines.length);
