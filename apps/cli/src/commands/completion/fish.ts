import { type Entry, type Flag, valueFlags } from './entries.ts'

export function fishScript(program: string, entries: readonly Entry[]): string {
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
