package configtest

import "strings"

// nested overflow the stack of a parser.
func nested() []Hostile {
	return []Hostile{
		locals("brackets", "a = "+fill("[")),
		locals("closed brackets", "a = "+fillPair("[", "]")),
		locals("parentheses", "a = "+fill("(")),
		locals("braces", "a = "+fill("{a=")),
		native("blocks", fill("b{")),
		native("blocks on lines", fill("b {\n")),
		locals("interpolations", "a = "+fill(`"${`)),
		locals("directives", `a = "`+fill("%{if true}")),
		locals("directives in a heredoc", "a = <<E\n"+fill("%{if true}\n")+"E"),
		locals("loops in a template", `a = "`+fill("%{for a in b}")),
		locals("not", "a = "+fill("!")),
		locals("not on lines", "a = ("+fill("!\n")),
		locals("not with comments", "a = "+fill("!/**/")),
		locals("minus", "a = "+fill("-")),
		locals("conditionals", "a = "+fill("true?1:")),
		locals("conditionals on lines", "a = ("+fill("true?\n1:")),
		locals("conditionals in an object", "a = {a: "+fill("true?1:")),
		locals("calls", "a = "+fill("upper(")),
		locals("sums", "a = 1"+fill("+1")),
		locals("mixed operators", "a = 1"+fill("+1*1==1&&1||1")),
		locals("indexes", "a = []"+fill("[0]")),
		locals("attributes", "a = var"+fill(".a")),
		locals("splats", "a = []"+fill(".*")),
		locals("full splats", "a = []"+fill("[*]")),
		locals("list", "a = tolist(["+fill("1,")+"])"),
		locals("object", "a = {"+fill("a=1,")+"}"),
		locals("arguments", "a = max("+fill("1,")+"1)"),
		native("labels", "pool "+fill(`"a" `)+"{}"),
	}
}

// scanned are read in quadratic time, or answered with an error for each
// character.
func scanned() []Hostile {
	return []Hostile{
		native("NUL", "locals { a = \"\x00\" + 1 }"),
		native("NULs", fill("\x00")),
		native("NULs in text", `locals { a = "`+fill("\x00")+`" }`),
		native("carriage returns", fill("\r")),
		native("carriage returns in text", `locals { a = "`+fill("\r")+`" }`),
		native("carriage returns on lines", fill("a\r\n")),
		locals("carriage returns in a heredoc", "a = <<E\n"+fill("a\r")+"\nE"),
		native("bad UTF-8", "locals { a = \"\xff\xfe\" }"),
		native("bad UTF-8 throughout", fill("\xff")),
		native("byte order mark", "\xef\xbb\xbflocals { a = b }"),
		native("too large", strings.Repeat("# comment\n", 30_000)),
		native("characters that are not used", fill("é§ ")),
		native("apostrophes", fill("'a ")),
		native("comments without an end", fill("/* ")),
		native("unfinished heredocs", fill("<<E\n")),
		native("heredocs with long names", fill("<<-"+strings.Repeat("E", 1000)+" ")),
		native("quotes", fill("\"\n")),
		native("open quotes", fill(`"a`)),
		native("equals signs", fill("=\n")),
		native("numbers on lines", fill("1\n")),
		native("names on lines", fill("a\n")),
		native("closed braces", fill("}\n")),
		native("dots after a number", "locals {\n  a = 1"+fill(".")+"\n}"),
		locals("percent signs", `a = "`+fill("%")+`"`),
		locals("percent signs and space", `a = "`+fill("% ")+`"`),
		locals("dollar signs", `a = "`+fill("$")+`"`),
		locals("escaped interpolations", `a = "`+fill("$${")+`"`),
		locals("escapes", `a = "`+fill(`\n`)+`"`).valid(),
		locals("heredoc of short lines", "a = <<E\n"+strings.Repeat("a\n", 80_000)+"E"),
		locals("heredoc of empty lines", "a = <<E\n"+fill("\n")+"E"),
		locals("indented heredoc", "a = <<-E\n"+strings.Repeat("  a\n", 50_000)+"  E"),
		locals("heredoc of plain lines", "a = <<E\n"+fill(strings.Repeat("a", 80)+"\n")+"E").valid(),
		locals("heredocs", numbered(10_000, "a# = <<E\na\nE\n")).valid(),
		locals("spaces", fill(" ")+"a = 1").valid(),
		locals("lines", fill("\n")+"a = 1").valid(),
		locals("comments", fill("# a\n")+"a = 1").valid(),
		native("comments behind values", "locals {\n"+strings.ReplaceAll(numbered(12_000, "a# = 1 @ a\n"), "@", "#")+"}\n").valid(),
		locals("comments that ignore", fill("# lkeplan:ignore a\n")),
		native("labels without quotes", fill("pool a b c {}\n")),
	}
}

// inJSON are of the other syntax.
func inJSON() []Hostile {
	file := func(name, text string) Hostile {
		return Hostile{Name: "JSON " + name, Files: map[string]string{"main.lke.json": text}}
	}
	local := func(name, value string) Hostile { return file(name, `{"locals": {"a": `+value+`}}`) }
	return []Hostile{
		file("brackets", `{"locals": {"a": `+fill("[")),
		local("closed brackets", fillPair("[", "]")),
		file("objects", fill(`{"a":`)),
		local("number", "1e10000000"),
		local("interpolations", `"`+fill("${[")+`"`),
		local("directives", `"`+fill("%{if true}")+`"`),
		local("percent signs", `"`+fill("%")+`"`),
		local("lines of text", `"`+fill(`a\n`)+`"`),
		local("not", `"${`+fill("!")+`"`),
		local("exponent", `"x${1e10000000}"`),
		local("loops", `"${[for a in range(1024) : [for b in range(1024) : \"x\"]]}"`),
		file("loops over strings", `{"locals": {"r": "${range(1024)}", "a": [`+
			strings.Repeat(`"${[for a in local.r : a]}",`, 5000)+`1]}}`),
		local("equal keys", "{"+strings.Repeat(`"a":1,`, 40_000)+`"b":1}`),
		file("equal arguments", `{"locals": {`+strings.Repeat(`"a":1,`, 40_000)+`"b":1}}`),
		file("unknown blocks", "{"+numbered(20_000, `"a#":1,`)+`"b":1}`),
		file("arrays of bodies", `{"locals": [`+strings.Repeat("[],", 60_000)+"1]}"),
		file("equal blocks", `{"pool": {"a": [`+strings.Repeat("{},", 60_000)+"{}]}}"),
		file("NULs", fill("\x00")),
		local("NULs in text", `"`+fill("\x00")+`"`),
		local("escapes", `"`+fill(`\u0041`)+`"`).valid(),
		local("list of text", "["+strings.Repeat(`"a",`, 60_000)+`"a"]`),
		local("list of templates", "["+strings.Repeat(`"${1}",`, 9_000)+`"a"]`).valid(),
		local("list of many templates", "["+strings.Repeat(`"${1}",`, 30_000)+`"a"]`),
		local("list of short templates", "["+strings.Repeat(`"${1}",`, 20_000)+`"a"]`),
		file("pools", `{"pool": {`+numbered(12_000, `"a#":{},`)+`"b":{}}}`),
		file("rounds of dynamic blocks", `{"node_class": {"a": {}}, "pool": {"a": {`+
			`"for_each": "${toset([for i in range(900) : \"a${i}\"])}", "node_class": "${node_class.a}",`+
			`"disruption": {"dynamic": {"budget": {"for_each": "${range(1000)}", "content": {"nodes": "10%"}}}}}}}`),
	}
}
