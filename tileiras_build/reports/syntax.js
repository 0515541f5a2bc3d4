/* ---- syntax colors: the tokens of one line of a text ---- */
const words = (list) => `(?<keyword>\\b(?:${list.replaceAll(" ", "|")})\\b)`;
const NUMBER = "(?<number>\\b(?:0[xfd][0-9A-Fa-f]+|\\d+(?:\\.\\d*)?(?:[eE][-+]?\\d+)?)\\b)";
const STRING = "(?<string>\"(?:[^\"\\\\]|\\\\.)*\"|'(?:[^'\\\\]|\\\\.)*')";
const DOTTED = "(?<op>\\b[a-z_]\\w*(?:\\.[\\w:]+)+)";
const C_COMMENT = "(?<comment>//.*|/\\*.*?\\*/)";
const IR = [C_COMMENT, STRING, "(?<value>[%@^!#][\\w.$#-]+)", DOTTED, NUMBER];
const SYNTAX = {
  py: ["(?<comment>#.*)", STRING, words("and as assert async await break class continue def del elif else except False finally for from global if import in is lambda None nonlocal not or pass raise return True try while with yield"), "(?<op>@[\\w.]+)", NUMBER],
  cu: [C_COMMENT, STRING, words("auto bool break case char class const constexpr continue default do double else enum extern false float for if inline int int64_t long namespace nullptr operator private public return short signed sizeof static struct switch template true typedef typename union unsigned using void while"), "(?<op>#\\w+|\\b__\\w+__\\b)", NUMBER],
  tilebc: IR, tileaa: IR, tileas: IR,
  ll: ["(?<comment>;.*)", STRING, "(?<value>[%@!#][\\w.$-]+)", words("add and ashr atomicrmw attributes bitcast br call cmpxchg declare define extractvalue fadd fcmp fdiv fmul fneg fpext fptrunc fsub getelementptr icmp insertvalue load lshr mul or phi ret select sext shl store sub switch tail trunc unreachable xor zext"), NUMBER],
  ptx: [C_COMMENT, STRING, "(?<value>%[\\w.]+)", DOTTED, "(?<keyword>\\.[a-z]\\w*)", NUMBER],
  sass: [C_COMMENT, "(?<value>\\b(?:U?R(?:\\d+|Z)|U?P(?:\\d|T))\\b)", "(?<op>\\b[A-Z][A-Z0-9]{1,}(?:\\.[A-Z0-9_]+)*\\b)", NUMBER],
};
const patterns = Object.fromEntries(Object.entries(SYNTAX).map(([name, parts]) => [name, new RegExp(parts.join("|"), "g")]));
/* The line as text and spans; a text of an unknown language is left as it is. */
function coloured(language, line) {
  const parts = [], pattern = patterns[language];
  let end = 0;
  for (const found of pattern ? line.matchAll(pattern) : []) {
    const [kind] = Object.entries(found.groups).find(([, text]) => text !== undefined);
    parts.push(line.slice(end, found.index), make("span", { className: `token ${kind}`, textContent: found[0] }));
    end = found.index + found[0].length;
  }
  return [...parts, line.slice(end)];
}
