import { COMMANDS, GLOBAL_OPTIONS, PROGRAM_NAME } from '@chancery/contract'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/screen.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { type Entry, type Flag, toEntries, valueFlags, zshScript } from './entries.ts'

/** The words are names of commands and flags, without characters that a shell interprets. */
function bashScript(program: string, entries: readonly Entry[]): string {
  const values = entries.flatMap(({ line, flags }) =>
    flags
      .filter((flag) => flag.choices.length > 0)
      .map((flag) => `    "${line} ${flag.name}") choices="${flag.choices.join(' ')}" ;;`),
  )
  const words = entries.map(({ line, words: next, flags, choices }) => {
    const offered = [...next.map(({ word }) => word), ...choices].join(' ')
    return `    "${line}") words="${offered}"; flags="${[...flags.map((flag) => flag.name), '--help'].join(' ')}" ;;`
  })
  return `# Completion of ${program} for bash. Load it with: source <(${program} completion bash)
_${program}() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD - 1]}"
  local line="" words="" flags="" choices="" i word
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="\${COMP_WORDS[i]}"
    case "$word" in
      ${valueFlags(entries).join('|')}) ((i++)) ;;
      -*) ;;
      *) line="\${line:+$line }$word" ;;
    esac
  done
  case "$line $prev" in
${values.join('\n')}
  esac
  if [[ -n "$choices" ]]; then
    COMPREPLY=($(compgen -W "$choices" -- "$cur"))
    return
  fi
  case "$prev" in
    ${valueFlags(entries).join('|')}) COMPREPLY=($(compgen -f -- "$cur")); return ;;
  esac
  case "$line" in
${words.join('\n')}
  esac
  if [[ "$cur" == -* ]]; then
    COMPREPLY=($(compgen -W "$flags" -- "$cur"))
  elif [[ -n "$words" ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
  else
    COMPREPLY=($(compgen -f -- "$cur"))
  fi
}
complete -o filenames -F _${program} ${program}
`
}

function fishScript(program: string, entries: readonly Entry[]): string {
  const lines = entries.flatMap(({ line, words, flags, choices }) => {
    const when = `complete -c ${program} -n '__${program}_at "${line}"'`
    const offered = [...words, ...choices.map((word) => ({ word, summary: '' }))]
    return [
      ...offered.map(({ word, summary }) => `${when} -f -a ${word}${described(summary)}`),
      ...flags.map((flag) => `${when} -l ${flag.name.slice(2)}${valueOf(flag)}${described(flag.summary)}`),
    ]
  })
  return `# Completion of ${program} for fish. Save it as ~/.config/fish/completions/${program}.fish
function __${program}_at
  set -l line
  set -l isValue 0
  for word in (commandline -opc)[2..-1]
    if test $isValue = 1
      set isValue 0
      continue
    end
    switch $word
      case ${valueFlags(entries).join(' ')}
        set isValue 1
      case '-*'
      case '*'
        set -a line $word
    end
  end
  test "$line" = "$argv[1]"
end
complete -c ${program} -l help -d 'Show this help.'
${lines.join('\n')}
`
}

/** -r: a value follows. Without choices fish offers files for it. */
function valueOf({ takesValue, choices }: Flag): string {
  if (!takesValue) return ''
  return choices.length === 0 ? ' -r' : ` -x -a '${choices.join(' ')}'`
}

/** In single quotes only the quote itself and the backslash need a backslash. */
function described(summary: string): string {
  return summary === '' ? '' : ` -d '${summary.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}

const SCRIPTS: Readonly<Record<string, typeof bashScript>> = { bash: bashScript, zsh: zshScript, fish: fishScript }

/**
 * Runs `completion`: prints a script for one shell, made from the table of the commands. The script starts no program.
 */
export async function runCompletion(_context: CommandContext, args: Arguments, _options: Options): Promise<Result> {
  const shell = args.required('shell')
  const write = SCRIPTS[shell]
  if (write === undefined) throw new Error(`no script for ${shell}`)
  const script = write(PROGRAM_NAME, toEntries(COMMANDS, GLOBAL_OPTIONS))
  return { data: { shell, script }, text: script }
}
