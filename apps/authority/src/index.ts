import { auditExport, auditForward, auditRemoveReader } from './commands/audit.ts'
import type { ExportArguments, ForwardArguments, RemoveReaderArguments } from './commands/audit.ts'
import { backup, importEvidence, noteBackupElsewhere, rehearse, restore } from './commands/backup.ts'
import type {
  BackupArguments,
  BackupProgress,
  BackupReport,
  ImportArguments,
  RehearseArguments,
  RehearseReport,
  RestoreArguments,
  RestoreReport,
} from './commands/backup.ts'
import { type CommandArguments, type SuccessionArguments, keySuccession } from './commands/key-succession.ts'
import { type RotateArguments, rotateKey } from './commands/rotate-key.ts'
import { type DoctorArguments, diagnose } from './commands/doctor/diagnose.ts'
import type { Finding } from '@chancery/service-kit'
import { type ExplainedSettings, explainAuthority } from './commands/explain-settings.ts'
import { type UnknownArguments, recoverUnknown } from './commands/unknown-records.ts'
import type { Outcome } from './commands/authority-identity.ts'
import { migrateSchema } from './commands/migrate.ts'
import { type FoundKey, type ResignArguments, publicKey, resignLists } from './commands/resign-lists.ts'
import { type StartArguments, start } from './commands/start.ts'
import { migrateDatabase, recover, verifyDatabase } from './commands/recover.ts'
import type { CopyArguments, RecoverArguments } from './commands/recover.ts'
import type { EvidenceImportResult } from './features/evidence/import-evidence.ts'
import type { Copied, CopyProgress } from './recovery/copy-database.ts'
import type { Inspection } from './recovery/inspect.ts'
import type { Migrated } from './database/migrate.ts'

/** What the command line loads by dynamic import to start and maintain an authority. */
export const commands: {
  readonly start: (args: StartArguments) => Promise<number>
  readonly recover: (args: RecoverArguments) => Promise<number>
  readonly resignLists: (args: ResignArguments) => Promise<number>
  readonly recoverUnknown: (args: UnknownArguments) => Promise<number>
  readonly verifyDatabase: (args: CommandArguments) => Promise<Outcome<Inspection>>
  readonly migrateSchema: (args: CommandArguments) => Promise<Outcome<Migrated>>
  readonly migrateDatabase: (args: CopyArguments) => Promise<Outcome<Copied>>
  readonly backup: (args: BackupArguments) => Promise<Outcome<BackupReport>>
  readonly noteBackupElsewhere: (args: CommandArguments) => Promise<Outcome<{ readonly isNoted: boolean }>>
  readonly restore: (args: RestoreArguments) => Promise<Outcome<RestoreReport>>
  readonly rehearse: (args: RehearseArguments) => Promise<Outcome<RehearseReport>>
  readonly importEvidence: (args: ImportArguments) => Promise<Outcome<EvidenceImportResult>>
  readonly diagnose: (args: DoctorArguments) => Promise<readonly Finding[]>
  readonly explainSettings: (args: CommandArguments) => Promise<ExplainedSettings>
  readonly publicKey: (args: CommandArguments) => Promise<FoundKey>
  readonly keySuccession: (args: SuccessionArguments) => Promise<number>
  readonly rotateKey: (args: RotateArguments) => Promise<number>
  readonly auditExport: (args: ExportArguments) => Promise<number>
  readonly auditForward: (args: ForwardArguments) => Promise<number>
  readonly auditRemoveReader: (args: RemoveReaderArguments) => Promise<number>
} = {
  start,
  recover,
  resignLists,
  recoverUnknown,
  verifyDatabase,
  migrateSchema,
  migrateDatabase,
  backup,
  noteBackupElsewhere,
  restore,
  rehearse,
  importEvidence,
  diagnose,
  explainSettings: explainAuthority,
  publicKey,
  keySuccession,
  rotateKey,
  auditExport,
  auditForward,
  auditRemoveReader,
}

export { startAuthority } from './app.ts'
export { runSuccessionStep } from './commands/key-succession.ts'
export type { CommandArguments as StartArguments, SuccessionStep } from './commands/key-succession.ts'
export type { RunningAuthority } from './app.ts'
export type { Core } from './core.ts'
export type { Features } from './features.ts'
export { ALL_AUTHORITY_SETTINGS, readAuthoritySettings } from './settings/authority-settings.ts'
export type { AuthoritySettings } from './settings/authority-settings.ts'
export { prepareDatabase } from './database/migrate.ts'
export type { DoctorArguments, Finding }
export type { BackupProgress, BackupReport, RehearseReport, RestoreReport }
export type { Copied, CopyArguments, CopyProgress, Inspection, Migrated, Outcome }

/** For commands that compute Cedar gates without an authority. */
export { openLocalCedar } from './features/boundary-policies/cedar.ts'
export type { LocalCedar } from './features/boundary-policies/cedar.ts'
