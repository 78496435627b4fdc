import type { CommandOption } from './command.ts'

/** Options of every command. They take precedence over the configuration file. */
export const GLOBAL_OPTIONS: readonly CommandOption[] = [
  { flags: '--json', summary: 'Print one JSON document instead of text' },
  {
    flags: '--config <file>',
    summary:
      'Configuration file; default: CHANCERY_CONFIG, ./chancery.toml, the choice of use, ~/.chancery/config.toml',
  },
  { flags: '--url <address>', summary: 'Base URL of the authority' },
  { flags: '--operator-key <file>', summary: 'Private key file of the operator' },
  { flags: '--operator-key-id <id>', summary: 'Key id of the operator key at the authority' },
  { flags: '--no-color', summary: 'Print without colors' },
  { flags: '--quiet', summary: 'Print no remarks, and of records only their ids' },
  { flags: '--exact-times', summary: 'Print times with fractions of a second' },
]
