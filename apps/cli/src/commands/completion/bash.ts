import { type Entry, valueFlags } from './entries.ts'

/** The words are names of commands and flags, without characters that a shell interprets. */
export function bashScript(program: string, entries: readonly Entry[]): string {
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
