import { diagnose } from './doctor/diagnose.ts'
import type { DoctorOptions } from './doctor/diagnose.ts'
import { expectedLines, loadSettings, packageVersion, start } from './main.ts'
import { exportAudit, verifyAudit } from './maintenance/audit-tools.ts'
import { backup } from './maintenance/backup.ts'
import { floors } from './maintenance/floors.ts'
import { clearSuspect, releaseRevocation } from './maintenance/overrides.ts'
import { rotateIssuer } from './maintenance/rotate-issuer.ts'
import { newToken, tokenDigest } from './maintenance/token.ts'
import { verify } from './maintenance/verify.ts'
import { preflight } from './preflight/preflight.ts'

/** What the command line loads by dynamic import to start and maintain a gateway. */
export const commands = {
  start,
  version: packageVersion,
  newToken,
  tokenDigest,
  loadSettings,
  /** What an operator can mend about a failure of these commands; undefined for a bug. */
  expectedLines,
  state: { floors, verify, backup, rotateIssuer, clearSuspect, releaseRevocation },
  preflight,
  diagnose: (envFile: string | undefined, options: DoctorOptions) => diagnose(() => loadSettings(envFile), options),
  audit: { verify: verifyAudit, export: exportAudit },
} as const

export { startGateway } from './app.ts'
export { initializeState } from './initialize-state.ts'
export type { AppParts, RunningGateway } from './app.ts'
export { BINDINGS } from './features.ts'
export type { Office } from './office.ts'
export { loadConfiguration } from './policy/load-configuration.ts'
export { GATEWAY_SETTINGS, readGatewaySettings } from './settings.ts'
export type { GatewaySettings } from './settings.ts'
export type { StartArguments } from './main.ts'
export type { ToolResult } from './maintenance/tool.ts'
