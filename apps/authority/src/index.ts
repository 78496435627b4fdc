import { publicKey, recover, start, verifyDatabase } from './main.ts'
import { auditExport, auditForward } from './audit-commands.ts'
import type { ExportArguments, ForwardArguments } from './audit-commands.ts'
import type { StartArguments } from './start-arguments.ts'

/** What the command line loads by dynamic import to start and maintain an authority. */
export const commands: {
  readonly start: (args: StartArguments) => Promise<number>
  readonly recover: (args: StartArguments) => Promise<number>
  readonly verifyDatabase: (args: StartArguments) => Promise<number>
  readonly publicKey: (args: StartArguments) => Promise<number>
  readonly auditExport: (args: ExportArguments) => Promise<number>
  readonly auditForward: (args: ForwardArguments) => Promise<number>
} = { start, recover, verifyDatabase, publicKey, auditExport, auditForward }

export { startAuthority } from './app.ts'
export type { RunningAuthority } from './app.ts'
export type { AppParts } from './open-office.ts'
export type { Office } from './office.ts'
export { ALL_AUTHORITY_SETTINGS, readAuthoritySettings } from './settings.ts'
export type { AuthoritySettings } from './settings.ts'
export { BINDINGS } from './features.ts'
export type { StartArguments } from './start-arguments.ts'
