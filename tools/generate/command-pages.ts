import {
  COMMANDS,
  COMMAND_GROUPS,
  type Command,
  type CommandOption,
  GLOBAL_OPTIONS,
  PROGRAM_NAME,
} from '@chancery/contract'
import { code, page, section, table } from './markdown.ts'

/**
 * docs/reference/commands.md and docs/reference/commands: a list of all commands, a page for each group, and one for the
 * commands that belong to no group. The site sends the address of each single command to its heading (site/redirects.mjs).
 */

const ONE_WORD = 'one-word'

const nameOf = (command: Command): string => [PROGRAM_NAME, ...command.path].join(' ')
/** A group inside another one, such as `gateway token`, is on the page of its first word. */
const pageOf = ({ path: [first] }: Command): string => (Object.hasOwn(COMMAND_GROUPS, first) ? first : ONE_WORD)
const anchorOf = (command: Command): string => nameOf(command).replaceAll(' ', '-')

/** Returns the commands of each page, in the order help lists the groups. */
const PAGES: ReadonlyMap<string, readonly Command[]> = Map.groupBy(COMMANDS, pageOf)

export const COMMAND_PAGES: Readonly<Record<string, () => string>> = Object.fromEntries(
  [...PAGES].map(([name, commands]) => [`commands/${name}.md`, () => groupPage(name, commands)]),
)

export function commandsPage(): string {
  const rows = COMMANDS.map((command) => [
    `[${code(nameOf(command))}](commands/${pageOf(command)}.md#${anchorOf(command)})`,
    command.summary,
    command.needs,
  ])
  return page(
    'Commands',
    `The program ${code(PROGRAM_NAME)} has ${COMMANDS.length} commands. Each group has a page. ${code(`${PROGRAM_NAME} help COMMAND`)} prints the same facts.`,
    table(['Command', 'What it does', 'Needs'], rows),
    section('Options of every command', optionTable(GLOBAL_OPTIONS)),
  )
}

function groupPage(name: string, commands: readonly Command[]): string {
  const isGroup = name !== ONE_WORD
  return page(
    isGroup ? `${PROGRAM_NAME} ${name}` : 'Commands of one word',
    isGroup ? `${COMMAND_GROUPS[name]?.summary ?? ''}.` : 'Commands that belong to no group.',
    `[All commands](../commands.md), [options of every command](../commands.md#options-of-every-command).`,
    ...commands.map((command) => commandSection(command)),
  )
}

function commandSection(command: Command): string {
  const name = nameOf(command)
  const words = command.arguments.map(({ name: word, required }) => (required ? `<${word}>` : `[${word}]`))
  const inputs = command.arguments.map(({ name: word, summary, choices }) => [
    code(word),
    sentences(summary, oneOf(choices)),
  ])
  const examples = command.examples.map(({ line, summary }) => `# ${summary}\n${line}`)
  return section(
    name,
    `${command.description} Needs: ${command.needs}.`,
    code([name, ...words, ...(command.options.length > 0 ? ['[options]'] : [])].join(' ')),
    ...(inputs.length > 0 ? [table(['Argument', 'Meaning'], inputs)] : []),
    ...(command.options.length > 0 ? [optionTable(command.options)] : []),
    `\`\`\`sh\n${examples.join('\n')}\n\`\`\``,
  )
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
