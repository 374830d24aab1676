package cli

// Hostile are texts that a terminal would obey, or that deceive its reader.
var Hostile = []string{
	// C0, DEL, and what moves the cursor.
	"\x00", "\x01\x02\x03\x04", "\x05", "a\bb", "safe\rfake", "\v\f", "\x0e\x0f", "\x18\x1a", "\x1c\x1d\x1e\x1f", "\x7f", "bell\a",
	// ESC: colours, the screen, modes, reports, character sets.
	"\x1b[31mred", "\x1b[0m", "\x1b[2J\x1b[H", "\x1b[1A\x1b[2K", "\x1b[?1049h", "\x1b[?25l", "\x1b[6n", "\x1b[c", "\x1b[>0q", "\x1b[?2004l",
	"\x1b[?1000h", "\x1b[8m", "\x1b[21t", "\x1b[3g", "\x1bc", "\x1b7\x1b8", "\x1b#8", "\x1b%G", "\x1b(0", "\x1bD", "\x1b", "~~~\x1b[200~",
	// OSC, DCS, APC, PM, SOS.
	"\x1b]0;title\a", "\x1b]2;title\x1b\\", "\x1b]52;c;aGk=\a", "\x1b]8;;http://evil.example\x1b\\link\x1b]8;;\x1b\\", "\x1b]4;1;rgb:00/00/00\a",
	"\x1b]10;?\a", "\x1b]1337;File=:\a", "\x1b]777;notify;a;b\a", "\x1bP+q544e\x1b\\", "\x1b_G\x1b\\", "\x1b^x\x1b\\", "\x1bXx\x1b\\",
	// C1.
	"\u009b31m", "\u0090q\u009c", "\u009d0;t\u009c", "\u0085next", "\u0084\u008d", "\u009f\u009e",
	// Direction, and what is not seen.
	"\u202Eevil\u202C", "\u202A\u202B\u202D", "\u2066a\u2069", "\u2067\u2068", "\u200Ehidden\u200F", "\u061C", "zero\u200Bwidth", "\u200C\u200D", "\u2060",
	"\uFEFFbom", "soft\u00ADhyphen", "tag\U000E0041", "line\u2028sep\u2029par", "\uFFF9a\uFFFAb\uFFFB", "\u180E", "\u00A0",
	// No characters at all.
	"\xff\xfe\x80", "\xc0\x9b", "\xe2\x80", "\U0010FFFF", "private\uE000", "\uFFFE",
}
