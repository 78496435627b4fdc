import { type Clock, PackageMissingError, type SettingsResult } from '@chancery/service-kit'
import { loadGrpc } from '../features/check/grpc-listener.ts'
import { checkOnline } from '../outbound/check-online.ts'
import { ConfigurationError, problemText } from '../policy/load-files.ts'
import { type Configuration, type ConfigurationProblem, loadConfiguration } from '../policy/load-configuration.ts'
import type { GatewaySettings } from '../settings/gateway-settings.ts'
import { type StoredCheckpoint, readCheckpoints } from '../state/checkpoints.ts'
import { readState } from '../state/state-file.ts'
import { StateError } from '../state/state-values.ts'
import { verifyState } from '../state/verify-state.ts'
import { ListWorker } from '../trust/list-worker.ts'
import { continueFollowing, storedKeys } from '../trust/followed-keys.ts'
import { loadListsOrThrow, fromCheckpoints } from '../trust/open-trust.ts'

export interface CheckReport {
  readonly problems: readonly ConfigurationProblem[]
  readonly warnings: readonly string[]
  /** Human-readable text. */
  readonly lines: readonly string[]
}

/**
 * `--check-config`: loads everything a start would load, read-only (protocol/gateway 18.2). It does not lock the state
 * and writes nothing, so that it can run next to a running replica. Success does not mean that the gateway is ready.
 */
export async function checkConfiguration(
  { values: settings, problems: wrong }: SettingsResult<GatewaySettings>,
  { online, clock }: { readonly online: boolean; readonly clock: Clock },
): Promise<CheckReport> {
  if (settings === undefined) return report(wrong.map(fromSettingsLine), [])
  if (settings.development) return report([], [])
  const { configuration, problems, warnings } = loadConfiguration(settings, clock.now())
  const found = [...(await checkPackages(settings)), ...problems]
  const stored = readStored(settings, found)
  if (configuration !== undefined && stored !== undefined)
    found.push(...(await checkLists(configuration, stored, clock)))
  if (configuration !== undefined && online) found.push(...(await checkOnline(configuration, settings)))
  return report(found, warnings)
}

function report(problems: readonly ConfigurationProblem[], warnings: readonly string[]): CheckReport {
  return { problems, warnings, lines: problems.map(problemText) }
}

function fromSettingsLine(line: string): ConfigurationProblem {
  const cut = line.indexOf(': ')
  return { setting: line.slice(0, cut), path: '', message: line.slice(cut + 2) }
}

async function checkPackages({ checkGrpcAddress }: GatewaySettings): Promise<readonly ConfigurationProblem[]> {
  if (checkGrpcAddress === undefined) return []
  try {
    await loadGrpc()
    return []
  } catch (error) {
    if (!(error instanceof PackageMissingError)) throw error
    return [fromSettingsLine(error.message)]
  }
}

/** Returns undefined when it has a problem. */
function readStored(
  settings: GatewaySettings,
  problems: ConfigurationProblem[],
): readonly StoredCheckpoint[] | undefined {
  if (settings.stateFile === undefined) return []
  try {
    return readState(settings.stateFile, settings, (db) => {
      // Without the chain: it is long, `audit verify` checks it, and a running replica must not wait.
      verifyState(db, 'without-chain')
      return readCheckpoints(db)
    })
  } catch (error) {
    if (!(error instanceof StateError)) throw error
    problems.push({ setting: 'GATEWAY_STATE_FILE', path: '', message: error.message })
    return undefined
  }
}

async function checkLists(
  { policy }: Configuration,
  stored: readonly StoredCheckpoint[],
  clock: Clock,
): Promise<readonly ConfigurationProblem[]> {
  const listWorker = new ListWorker()
  try {
    const followed = await continueFollowing(policy, storedKeys(stored))
    await loadListsOrThrow(followed, fromCheckpoints(stored), listWorker, clock)
    return []
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error
    return error.problems
  } finally {
    await listWorker.close()
  }
}
