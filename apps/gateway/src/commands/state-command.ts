import type { DatabaseSync } from 'node:sqlite'
import type { JsonObject } from '@chancery/protocol'
import { systemClock, systemIds } from '@chancery/service-kit'
import { ConfigurationError } from '../policy/configuration-error.ts'
import { loadConfiguration } from '../policy/load-configuration.ts'
import type { Policy } from '../policy/policy.ts'
import type { GatewaySettings } from '../settings/gateway-settings.ts'
import { acquireFileLock } from '../state/file-lock.ts'
import { openStateFile } from '../state/state-file.ts'
import { StateError } from '../state/state-error.ts'
import { verifyState } from '../state/verify-state.ts'

/** Result of a command, for programs and for people. */
export interface ToolResult {
  readonly data: JsonObject
  readonly text: string
  readonly exitCode: 0 | 1
}

/** A command has an invalid input. */
export class ToolError extends Error {
  override readonly name = 'ToolError'
}

/** Ids and times of events, as in the running gateway. */
export const TOOLS = { clock: systemClock, ids: systemIds }

export function done(data: JsonObject, text: string): ToolResult {
  return { data, text, exitCode: 0 }
}

/** Reads the state next to a running gateway, and writes nothing. */
export function readState<Value>(file: string, settings: GatewaySettings, read: (db: DatabaseSync) => Value): Value {
  const db = openStateFile({ file, isReadOnly: true, maxBytes: settings.stateMaxBytes })
  try {
    return read(db)
  } finally {
    db.close()
  }
}

/** Changes the state of a stopped gateway: locks it and verifies all of it first. */
export async function changeState<Value>(
  settings: GatewaySettings,
  change: (db: DatabaseSync) => Promise<Value> | Value,
): Promise<Value> {
  const file = stateFileOf(settings)
  const ownership = acquireFileLock(file)
  try {
    const db = openStateFile({ file, isReadOnly: false, maxBytes: settings.stateMaxBytes })
    try {
      verifyState(db)
      return await change(db)
    } finally {
      db.close()
    }
  } finally {
    ownership.release()
  }
}

export function stateFileOf({ stateFile }: GatewaySettings): string {
  if (stateFile === undefined) throw new StateError('is required')
  return stateFile
}

export function policyOf(settings: GatewaySettings): Policy {
  const { configuration, problems } = loadConfiguration(settings, systemClock.now())
  if (configuration === undefined) throw new ConfigurationError(problems)
  return configuration.policy
}
