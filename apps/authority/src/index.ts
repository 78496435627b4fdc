import { auditExport, auditForward } from './audit-commands.ts'
import type { ExportArguments, ForwardArguments } from './audit-commands.ts'
import { backup, importEvidence, noteBackupElsewhere, rehearse, restore } from './backup-commands.ts'
import type {
  BackupArguments,
  BackupProgress,
  BackupReport,
  ImportArguments,
  RehearseArguments,
  RehearseReport,
  RestoreArguments,
  RestoreReport,
} from './backup-commands.ts'
import { keySuccession } from './succession-commands.ts'
import type { SuccessionArguments } from './succession-commands.ts'
import { diagnose } from './doctor/diagnose.ts'
import type { DoctorArguments } from './doctor/diagnose.ts'
import type { Finding } from '@chancery/service-kit'
import { recoverUnknown } from './unknown-commands.ts'
import type { UnknownArguments } from './unknown-commands.ts'
import type { HostArguments } from './host-settings.ts'
import { publicKey } from './key-commands.ts'
import { start } from './main.ts'
import { migrateDatabase, recover, verifyDatabase } from './maintenance.ts'
import type { CopyArguments, RecoverArguments } from './maintenance.ts'
import type { Outcome } from './host-authority.ts'
import type { Reimported } from './features/evidence/reimport.ts'
import type { Copied, CopyProgress } from './features/recovery/copy-database.ts'
import type { Inspection } from './features/recovery/inspect.ts'

/** What the command line loads by dynamic import to start and maintain an authority. */
export const commands: {
  readonly start: (args: HostArguments) => Promise<number>
  readonly recover: (args: RecoverArguments) => Promise<number>
  readonly recoverUnknown: (args: UnknownArguments) => Promise<number>
  readonly verifyDatabase: (args: HostArguments) => Promise<Outcome<Inspection>>
  readonly migrateDatabase: (args: CopyArguments) => Promise<Outcome<Copied>>
  readonly backup: (args: BackupArguments) => Promise<Outcome<BackupReport>>
  readonly noteBackupElsewhere: (args: HostArguments) => Promise<Outcome<{ readonly isNoted: boolean }>>
  readonly restore: (args: RestoreArguments) => Promise<Outcome<RestoreReport>>
  readonly rehearse: (args: RehearseArguments) => Promise<Outcome<RehearseReport>>
  readonly importEvidence: (args: ImportArguments) => Promise<Outcome<Reimported>>
  readonly diagnose: (args: DoctorArguments) => Promise<readonly Finding[]>
  readonly publicKey: (args: HostArguments) => Promise<number>
  readonly keySuccession: (args: SuccessionArguments) => Promise<number>
  readonly auditExport: (args: ExportArguments) => Promise<number>
  readonly auditForward: (args: ForwardArguments) => Promise<number>
} = {
  start,
  recover,
  recoverUnknown,
  verifyDatabase,
  migrateDatabase,
  backup,
  noteBackupElsewhere,
  restore,
  rehearse,
  importEvidence,
  diagnose,
  publicKey,
  keySuccession,
  auditExport,
  auditForward,
}

export { startAuthority } from './app.ts'
export { takeSuccessionStep } from './succession-commands.ts'
export type { SuccessionStep } from './succession-commands.ts'
export type { RunningAuthority } from './app.ts'
export type { AppParts } from './open-office.ts'
export type { Office } from './office.ts'
export { ALL_AUTHORITY_SETTINGS, readAuthoritySettings } from './settings.ts'
export type { AuthoritySettings } from './settings.ts'
export { BINDINGS } from './features.ts'
export { prepareDatabase } from './store/prepare.ts'
export type { HostArguments as StartArguments } from './host-settings.ts'
export type { DoctorArguments, Finding }
export type { BackupProgress, BackupReport, RehearseReport, RestoreReport }
export type { Copied, CopyArguments, CopyProgress, Inspection, Outcome }
