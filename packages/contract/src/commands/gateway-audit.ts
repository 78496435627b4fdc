import { AUDIT_FORMAT_OPTION } from './audit.ts'
import type { Command, CommandOption } from './command.ts'

export const ENV_FILE: CommandOption = {
  flags: '--env-file <file>',
  summary: 'File with settings; environment variables override it',
}

export const gatewayAudit: readonly Command[] = [
  {
    path: ['gateway', 'audit', 'verify'],
    summary: 'Check the audit chain',
    description: 'Recomputes every hash and link of the stored audit events. Exit code 1 if one is wrong.',
    arguments: [],
    options: [ENV_FILE],
    examples: [{ line: 'chancery gateway audit verify', summary: 'Works while the gateway runs' }],
    needs: 'nothing',
  },
  {
    path: ['gateway', 'audit', 'export'],
    summary: 'Print the audit events of a gateway',
    description:
      'Prints the stored audit events as JSON Lines, oldest first. It verifies the chain and stops before the first event that does not follow.',
    arguments: [],
    options: [AUDIT_FORMAT_OPTION, ENV_FILE],
    examples: [
      { line: 'chancery gateway audit export > audit.ndjson', summary: 'Works while the gateway runs' },
      { line: 'chancery gateway audit export --format cloudevents > audit.ndjson', summary: 'Print CloudEvents' },
    ],
    needs: 'nothing',
  },
  {
    path: ['gateway', 'audit', 'prune'],
    summary: 'Remove old audit events of a gateway',
    description:
      'Removes stored audit events that are older than the given days; the chain stays verifiable, and an event names what was removed. With a collector, events that it has not acknowledged stay. Export what you need and stop the gateway first.',
    arguments: [],
    options: [
      { flags: '--older-than-days <n>', summary: 'Minimum age of removed events in days, 0 to 36500', required: true },
      ENV_FILE,
    ],
    examples: [
      {
        line: 'chancery gateway audit prune --older-than-days 30',
        summary: 'Make room in a state that is nearly full',
      },
    ],
    needs: 'nothing',
  },
]
