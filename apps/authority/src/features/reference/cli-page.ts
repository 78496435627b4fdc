import { COMMANDS, type Command, type CommandOption, GLOBAL_OPTIONS, PROGRAM_NAME } from '@chancery/contract'
import { type Call, type HttpResponse, type Markup, markup } from '@chancery/service-kit'
import type { ReferenceParts } from './component-schemas.ts'
import { page } from '../../pages/frame.ts'
import { badge, panel, plural } from '../../pages/parts.ts'

const NEEDS: Readonly<Record<Command['needs'], string | undefined>> = {
  nothing: undefined,
  operator: 'operator key',
  node: 'node key',
  'authority-host': 'on the host of the authority',
}

/**
 * GET /cli-reference
 * Shows every command, from the definitions of the program itself.
 */
export function cliPage(_call: Call, parts: ReferenceParts): HttpResponse {
  const words = [...new Set(COMMANDS.map((command) => command.path[0]))]
  const sections = words.map((word) => {
    const commands = COMMANDS.filter((command) => command.path[0] === word)
    return panel({ title: word, id: word ?? '', flush: commands.map(describe) })
  })
  return page(parts, {
    path: '/cli-reference',
    title: 'Command reference',
    content: markup`<section class="verdict"><h1>Command reference</h1>
<p>${plural(COMMANDS.length, 'command')} of <code>${PROGRAM_NAME}</code>.</p></section>
<nav class="index" aria-label="Commands"><ul>${words.map((word) => markup`<li><a href="#${word}">${word}</a></li>`)}</ul></nav>
${sections}
${panel({ title: 'With every command', id: 'global-options', body: options(GLOBAL_OPTIONS) })}`,
  })
}

function describe(command: Command): Markup {
  const needs = NEEDS[command.needs]
  return markup`<details class="route"><summary><code>${PROGRAM_NAME} ${command.path.join(' ')}${command.arguments
    .map(({ name, required, variadic }) =>
      required ? ` <${name}${variadic ? '…' : ''}>` : ` [${name}${variadic ? '…' : ''}]`,
    )
    .join(
      '',
    )}</code> <span class="title">${command.summary}</span> ${needs !== undefined && badge('plain', needs)}</summary>
<p>${command.description}</p>${
    command.arguments.length > 0 &&
    markup`<dl class="facts wide">${command.arguments.map(({ name, summary }) => markup`<div><dt>${name}</dt><dd>${summary}</dd></div>`)}</dl>`
  }${command.options.length > 0 && options(command.options)}${command.examples.map(
    ({ line, summary }) =>
      markup`<figure class="example"><figcaption>${summary}</figcaption><pre tabindex="0"><code>${line}</code></pre></figure>`,
  )}</details>\n`
}

function options(list: readonly CommandOption[]): Markup {
  return markup`<dl class="facts wide">${list.map(
    (option) =>
      markup`<div><dt><code>${option.flags}</code></dt><dd>${option.summary}${option.required === true && ' Required.'}${option.repeatable === true && ' Repeatable.'}${
        option.default !== undefined && ` Default: ${option.default}.`
      }${option.choices !== undefined && ` One of: ${option.choices.join(', ')}.`}</dd></div>`,
  )}</dl>`
}
