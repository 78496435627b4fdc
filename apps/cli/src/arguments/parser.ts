import { COMMAND_GROUPS, GLOBAL_OPTIONS, PROGRAM_NAME } from '@chancery/contract'
import { groupHelp, rootHelp } from './help.ts'
import type { Command, CommandOption } from '@chancery/contract'
import { Argument, CommanderError, InvalidArgumentError, Option, Command as Parser } from 'commander'
import type { Style } from '../output/screen.ts'
import { flagName } from './options.ts'

export interface ParserParts {
  /** Those that the line can mean. */
  readonly commands: readonly Command[]
  /** The words of the line. */
  readonly line: readonly string[]
  readonly version: string
  readonly style: Style
  readonly columns: number
  readonly write: (text: string) => void
  readonly writeError: (text: string) => void
  /** Called with the command that was named and its parsed line. */
  readonly run: (command: Command, leaf: Parser) => Promise<void>
}

/**
 * The word that decides which commands a line can mean; undefined when the program itself is asked, or is about to refuse
 * the line, which it compares with all commands.
 */
export function firstWord(line: readonly string[]): string | undefined {
  for (let at = 0; at < line.length; at += 1) {
    const word = line[at] ?? ''
    if (!word.startsWith('-')) return word
    const option = GLOBAL_OPTIONS.find(({ flags }) => `--${flagName(flags)}` === word.split('=')[0])
    if (option === undefined) return undefined
    if (option.flags.includes('<') && !word.includes('=')) at += 1
  }
  return undefined
}

/**
 * The command line, built from tables of the contract: names and arguments of the commands. Options, help and examples
 * only of those that the line can mean, because all options are 2,600 objects that a program would keep while it runs.
 */
export function buildParser(parts: ParserParts): Parser {
  const root = new Parser(PROGRAM_NAME)
    .version(parts.version, '-v, --version', 'Print the version.')
    // Otherwise --version of `genesis create` would be taken for the one of the program.
    .enablePositionalOptions()
    .configureOutput({
      writeOut: parts.write,
      writeErr: parts.writeError,
      // Errors are printed once, by the program, as text or JSON.
      outputError: () => undefined,
      // Colours are decided before parsing; help on standard error has none.
      getOutHasColors: () => true,
      getErrHasColors: () => false,
      getOutHelpWidth: () => parts.columns,
      getErrHelpWidth: () => parts.columns,
    })
    .configureHelp({ styleTitle: (text) => parts.style.title(text) })
  setUp(root, PROGRAM_NAME)
  root.helpCommand(false)
  root.configureHelp({ formatHelp: () => rootHelp(parts.style) })
  for (const option of GLOBAL_OPTIONS) root.addOption(toOption(option))
  for (const command of parts.commands) addCommand(root, command, parts)
  return root
}

function addCommand(root: Parser, command: Command, parts: ParserParts): void {
  let parent = root
  for (const [at] of command.path.slice(0, -1).entries())
    parent = findGroup(parent, command.path.slice(0, at + 1), parts)
  const name = command.path.at(-1) ?? ''
  const leaf = parent.command(name).summary(command.summary)
  // Not the help of its group, which it would inherit.
  leaf.configureHelp({ styleTitle: (text) => parts.style.title(text) })
  setUp(leaf, [PROGRAM_NAME, ...command.path].join(' '))
  for (const { name: word, summary, required, choices, variadic } of command.arguments) {
    const shown = variadic === true ? `${word}...` : word
    const argument = new Argument(required ? `<${shown}>` : `[${shown}]`, summary)
    leaf.addArgument(choices === undefined ? argument : argument.choices(choices))
  }
  leaf.action(() => parts.run(command, leaf))
  if (command.path.every((word) => parts.line.includes(word))) addDetails(leaf, command, parts)
}

function addDetails(leaf: Parser, command: Command, { style }: ParserParts): void {
  leaf.description(command.description)
  for (const option of command.options) leaf.addOption(toOption(option))
  // Also accepted after the command, as in `chancery node list --json`.
  for (const option of GLOBAL_OPTIONS) leaf.addOption(toOption(option).helpGroup('Global options:'))
  const examples = command.examples.map(({ line, summary }) => `  ${line}\n      ${summary}`)
  leaf.addHelpText('after', `\n${style.title('Examples:')}\n${examples.join('\n')}`)
}

/** Returns the parser of a word that only groups commands, such as `genesis`. */
function findGroup(parent: Parser, path: readonly string[], parts: ParserParts): Parser {
  const word = path.at(-1) ?? ''
  const known = parent.commands.find((each) => each.name() === word)
  if (known !== undefined) return known
  const group = parent.command(word).description(COMMAND_GROUPS[path[0] ?? '']?.summary ?? '')
  // A word in a group, such as `gateway network`, has the help of the group.
  group.configureHelp({ formatHelp: () => groupHelp(path[0] ?? '', parts.commands, parts.style) })
  setUp(group, [PROGRAM_NAME, ...path].join(' '))
  for (const option of GLOBAL_OPTIONS) group.addOption(toOption(option).hideHelp())
  return group
}

/** Makes the parser throw instead of ending the process. The error names the help to read. */
function setUp(parser: Parser, line: string): void {
  parser
    .helpCommand(false)
    .helpOption('-h, --help', 'Show this help.')
    .exitOverride((error) => {
      const helpLine = `See: ${line} --help`
      throw Object.assign(new CommanderError(error.exitCode, error.code, error.message), { helpLine })
    })
}

function toOption({ flags, summary, default: shown, required, repeatable, choices }: CommandOption): Option {
  const facts = [
    ...(required === true ? ['required'] : []),
    ...(shown === undefined ? [] : [`default: ${shown}`]),
    ...(repeatable === true ? ['may be repeated'] : []),
  ]
  // The default is shown but not set, because settings and configuration files take precedence over it.
  const option = new Option(flags, facts.length === 0 ? summary : `${summary} (${facts.join('; ')})`)
  if (choices !== undefined) option.choices(choices)
  const checkChoice = option.parseArg
  if (flags.includes('<') && (checkChoice === undefined || repeatable === true))
    option.argParser((value, before: unknown) => {
      // The parser checks one value and drops the ones before it.
      checkChoice?.(value, undefined)
      return readOptionValue(value, before, repeatable === true)
    })
  return option
}

function readOptionValue(value: string, before: unknown, isRepeatable: boolean): string | readonly string[] {
  // An unset variable in a script gives an empty value. As a folder name it would mean the current folder.
  if (value === '') throw new InvalidArgumentError('It is empty.')
  if (!isRepeatable) return value
  return [...(Array.isArray(before) ? (before as readonly string[]) : []), value]
}

/** Every option written on the line, at the command or at a word before it; the one nearest to the command wins. */
export function givenOptions(leaf: Parser): ReadonlyMap<string, string | boolean | readonly string[]> {
  const given = new Map<string, string | boolean | readonly string[]>()
  for (let at: Parser | null = leaf; at !== null; at = at.parent) {
    for (const option of at.options) {
      const [key, name] = [option.attributeName(), (option.long ?? '').slice(2)]
      if (at.getOptionValueSource(key) !== 'cli' || given.has(name)) continue
      given.set(name, option.negate ? true : (at.getOptionValue(key) as string | boolean | readonly string[]))
    }
  }
  return given
}
