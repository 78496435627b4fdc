import { COMMANDS, PROGRAM_NAME } from '@chancery/contract'
import { markup } from '@chancery/service-kit'
import type { HttpResponse, Call } from '@chancery/service-kit'
import type { DashboardParts } from './parts.ts'
import { page } from '../../pages/frame.ts'
import { table } from '../../pages/parts.ts'

/**
 * GET /operator
 * Serves the operator page. Key and signatures stay in the browser. Without script, the command line does the same
 * work.
 */
export function operator(_call: Call, parts: DashboardParts): HttpResponse {
  const commands = COMMANDS.filter((command) => command.needs === 'operator')
  return page(parts, {
    path: '/operator',
    title: 'Operator',
    content: markup`<h1>Operator</h1>
<p class="lead">Work that changes this network, signed with your key. The key never leaves this page and is gone when you close it or leave it idle; every request is shown before it is signed.</p>
<div id="operator" data-key-idle-minutes="${parts.settings.consoleKeyIdleMinutes}"></div>
<section class="card"><h2>The same on the command line</h2>${table(
      'Commands that need an operator key',
      [
        { name: 'Command', cell: (command) => markup`<code>${PROGRAM_NAME} ${command.path.join(' ')}</code>` },
        { name: 'Does', cell: (command) => command.summary },
      ],
      commands,
      'There is none.',
    )}</section>`,
  })
}
