import { COMMANDS, type Command, type CommandOption, GLOBAL_OPTIONS, PROGRAM_NAME } from '@chancery/contract'
import { code, page, section, table } from './markdown.ts'

/** docs/reference/commands.md and docs/reference/commands: a list of all commands, and one page for each command. */

const groupOf = (command: Command): string => command.path[0] ?? ''
const nameOf = (command: Command): string => [PROGRAM_NAME, ...command.path].join(' ')
const fileOf = (command: Command): string => `${command.path.join('-')}.md`

/** Returns the commands of each group, in the order help lists the groups. */
const GROUPS: ReadonlyMap<string, readonly Command[]> = Map.groupBy(COMMANDS, groupOf)

export const COMMAND_PAGES: Readonly<Record<string, () => string>> = Object.fromEntries(
  COMMANDS.map((command) => [`commands/${fileOf(command)}`, () => commandPage(command)]),
)

export function commandsPage(): string {
  const rows = COMMANDS.map((command) => [
    `[${code(nameOf(command))}](commands/${fileOf(command)})`,
    command.summary,
    command.needs,
  ])
  return page(
    'Commands',
    `The program ${code(PROGRAM_NAME)} has ${COMMANDS.length} commands. Each has a page. ${code(`${PROGRAM_NAME} help COMMAND`)} prints the same facts.`,
    table(['Command', 'What it does', 'Needs'], rows),
    section('Options of every command', optionTable(GLOBAL_OPTIONS)),
  )
}

function commandPage(command: Command): string {
  const name = nameOf(command)
  const words = command.arguments.map(({ name: word, required }) => (required ? `<${word}>` : `[${word}]`))
  const inputs = command.arguments.map(({ name: word, summary, choices }) => [
    code(word),
    sentences(summary, oneOf(choices)),
  ])
  const examples = command.examples.map(({ line, summary }) => `# ${summary}\n${line}`)
  return page(
    name,
    `${command.description} Needs: ${command.needs}.`,
    code([name, ...words, ...(command.options.length > 0 ? ['[options]'] : [])].join(' ')),
    ...(inputs.length > 0 ? [table(['Argument', 'Meaning'], inputs)] : []),
    ...(command.options.length > 0 ? [optionTable(command.options)] : []),
    `\`\`\`sh\n${examples.join('\n')}\n\`\`\``,
    neighbours(command),
  )
}

/** Returns links to the other commands of the group, and to the options that every command has. */
function neighbours(command: Command): string {
  const others = (GROUPS.get(groupOf(command)) ?? []).filter((each) => each !== command)
  const links = others.map((each) => `[${code(nameOf(each))}](${fileOf(each)})`)
  const related = links.length === 0 ? '' : `Related: ${links.join(', ')}. `
  return `${related}[All commands](../commands.md), [options of every command](../commands.md#options-of-every-command).`
}

function optionTable(options: readonly CommandOption[]): string {
  return table(
    ['Option', 'Default', 'Meaning'],
    options.map((option) => [
      code(option.flags),
      option.required === true ? 'required' : (option.default ?? ''),
      sentences(option.summary, oneOf(option.choices), option.repeatable === true ? 'May be repeated.' : ''),
    ]),
  )
}

/** Joins the parts to one text. A summary has no full stop, so a part that follows it needs one. */
function sentences(...parts: readonly string[]): string {
  return parts
    .filter((part) => part !== '')
    .join('. ')
    .replaceAll('.. ', '. ')
}

function oneOf(choices: readonly string[] | undefined): string {
  return choices === undefined ? '' : `One of ${choices.join(', ')}.`
}
