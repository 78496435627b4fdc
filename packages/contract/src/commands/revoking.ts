import type { CommandOption } from './command.ts'

/** Options of every command that revokes: it shows a preview, then asks for confirmation. */
export const REVOKING_OPTIONS: readonly CommandOption[] = [
  { flags: '--dry-run', summary: 'Only show what would no longer be trusted' },
  { flags: '--yes', summary: 'Do not ask for confirmation' },
]

export const LIST_OPTIONS: readonly CommandOption[] = [
  { flags: '--limit <n>', summary: 'Maximum number of entries, 1 to 1000', default: '50' },
  { flags: '--all', summary: 'All entries, page by page' },
]
