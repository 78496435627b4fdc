import { type DoctorOptions, checkInstance, diagnose } from './commands/doctor/diagnose.ts'
import { explainGateway } from './commands/explain-settings.ts'
import { expectedLines, loadSettings, packageVersion, readSettings, start } from './commands/start.ts'
import { exportAudit, pruneAudit, verifyAudit } from './commands/audit.ts'
import { backup } from './commands/state-backup.ts'
import {
  checkFiles,
  clearSuspect,
  createState,
  diagnoseFiles,
  floors,
  newToken,
  releaseRevocation,
  tokenDigest,
} from './commands/state-command.ts'
import { rotateIssuer } from './commands/rotate-issuer.ts'
import { verify } from './commands/state-verify.ts'
import { describeTokens, newTokenKey } from './commands/token-files.ts'
import { pinNetwork, preflight } from './commands/preflight/preflight.ts'

/** Commands that the command line loads by dynamic import to start and maintain a gateway. */
export const commands = {
  start,
  version: packageVersion,
  newToken,
  tokenDigest,
  loadSettings,
  /** Returns the errors that an operator can fix, or undefined for a bug. */
  expectedLines,
  state: { floors, verify, backup, rotateIssuer, clearSuspect, releaseRevocation },
  preflight,
  /** Makes the policy entry of a network from an address and a root key. */
  pinNetwork,
  /** The steps of --check-config and --init-state, for commands that write the files of a gateway. */
  checkFiles,
  createState,
  diagnoseFiles,
  /** Checks the gateway with these settings on this machine, as doctor does. */
  checkInstance,
  diagnose: async (envFile: string | undefined, options: DoctorOptions) =>
    diagnose(await readSettings(envFile), options),
  newTokenKey,
  /** Keys and services of access tokens. */
  describeTokens,
  explainSettings: explainGateway,
  audit: { verify: verifyAudit, export: exportAudit, prune: pruneAudit },
} as const

export { startGateway } from './app.ts'
export { initializeState } from './commands/initialize-state.ts'
export type { RunningGateway } from './app.ts'
export type { Core } from './core.ts'
export { loadConfiguration } from './policy/load-configuration.ts'
export { GATEWAY_SETTINGS, readGatewaySettings } from './settings/gateway-settings.ts'
export type { GatewaySettings } from './settings/gateway-settings.ts'
export type { StartArguments } from './commands/start.ts'
export type { ToolResult } from './commands/state-command.ts'
