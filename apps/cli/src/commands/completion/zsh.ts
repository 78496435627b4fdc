import { type Entry, valueFlags } from './entries.ts'

export function zshScript(program: string, entries: readonly Entry[]): string {
  const values = entries.flatMap(({ line, flags }) =>
    flags
      .filter((flag) => flag.choices.length > 0)
      .map((flag) => `    ('${line} ${flag.name}') compadd -- ${flag.choices.join(' ')}; return ;;`),
  )
  const lines = entries.map(({ line, words, flags, choices }) => {
    const offered = [
      ...words.map(({ word, summary }) => described(word, summary)),
      ...choices.map((each) => described(each, '')),
    ]
    const shown = [...flags.map((flag) => described(flag.name, flag.summary)), described('--help', 'Show this help.')]
    return `    ('${line}') offered=(${offered.join(' ')}); flags=(${shown.join(' ')}) ;;`
  })
  return `#compdef ${program}
# Completion of ${program} for zsh. Load it with: source <(${program} completion zsh)
_${program}() {
  local line='' word i prev="\${words[CURRENT - 1]}"
  local -a offered flags
  for ((i = 2; i < CURRENT; i++)); do
    word="\${words[i]}"
    case "$word" in
      (${valueFlags(entries).join('|')}) ((i++)) ;;
      (-*) ;;
      (*) line="\${line:+$line }$word" ;;
    esac
  done
  case "$line $prev" in
${values.join('\n')}
  esac
  case "$prev" in
    (${valueFlags(entries).join('|')}) _files; return ;;
  esac
  case "$line" in
${lines.join('\n')}
  esac
  if [[ "\${words[CURRENT]}" == -* ]]; then
    _describe -o 'option' flags
  elif (( \${#offered} )); then
    _describe 'command' offered
  else
    _files
  fi
}
compdef _${program} ${program}
`
}

/** \`word:text\` in single quotes; a colon in the word itself would end it. */
function described(word: string, summary: string): string {
  const text = summary === '' ? word.replaceAll(':', '\\:') : `${word.replaceAll(':', '\\:')}:${summary}`
  return `'${text.replaceAll("'", "'\\''")}'`
}
