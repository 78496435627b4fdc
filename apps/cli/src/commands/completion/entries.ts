import { COMMAND_GROUPS, type Command, type CommandOption } from '@chancery/contract'
import { flagName } from '../../arguments/options.ts'

export interface Flag {
  /** With its dashes. */
  readonly name: string
  readonly summary: string
  readonly takesValue: boolean
  /** The values to offer; none means a file. */
  readonly choices: readonly string[]
}

/** What can follow one word or one whole command. */
export interface Entry {
  /** The words typed so far, joined by a space; empty for the program itself. */
  readonly line: string
  readonly words: readonly { readonly word: string; readonly summary: string }[]
  readonly flags: readonly Flag[]
  /** Values of the first argument, when only some are allowed. */
  readonly choices: readonly string[]
}

/** One entry for the program, one per group, one per command. */
export function toEntries(commands: readonly Command[], globals: readonly CommandOption[]): readonly Entry[] {
  const lines = new Set(commands.flatMap(({ path }) => path.map((_word, index) => path.slice(0, index).join(' '))))
  const groups = [...lines].map((line) => ({
    line,
    words: wordsAfter(line, commands),
    flags: globals.map(toFlag),
    choices: [],
  }))
  const leaves = commands.map(({ path, options, arguments: [first] }) => ({
    line: path.join(' '),
    words: [],
    flags: [...options, ...globals].map(toFlag),
    choices: first?.choices ?? [],
  }))
  return [...groups, ...leaves]
}

function wordsAfter(line: string, commands: readonly Command[]): Entry['words'] {
  const depth = line === '' ? 0 : line.split(' ').length
  const below = commands.filter(({ path }) => path.length > depth && path.slice(0, depth).join(' ') === line)
  const words = new Map<string, string>()
  for (const { path, summary } of below) {
    const word = path[depth] ?? ''
    if (words.has(word)) continue
    words.set(word, path.length === depth + 1 ? summary : (COMMAND_GROUPS[path[0] ?? '']?.summary ?? ''))
  }
  return [...words].map(([word, summary]) => ({ word, summary }))
}

function toFlag({ flags, summary, choices = [] }: CommandOption): Flag {
  return { name: `--${flagName(flags)}`, summary, takesValue: flags.includes('<'), choices }
}

/** Returns every flag that takes a value, to distinguish values from command words. */
export function valueFlags(entries: readonly Entry[]): readonly string[] {
  return [...new Set(entries.flatMap(({ flags }) => flags.filter((flag) => flag.takesValue).map((flag) => flag.name)))]
}

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
