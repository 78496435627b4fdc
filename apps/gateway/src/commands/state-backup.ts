import { closeSync, openSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { GatewaySettings } from '../settings/gateway-settings.ts'
import { copyState, openStateFile, readState, syncPath } from '../state/state-file.ts'
import { StateError } from '../state/state-values.ts'
import { verifyState } from '../state/verify-state.ts'
import { type ToolResult, done, stateFileOf } from './state-command.ts'

/** `state backup`: writes a consistent copy while the gateway runs, and verifies it. */
export async function backup(settings: GatewaySettings, target: string): Promise<ToolResult> {
  const source = openStateFile({ file: stateFileOf(settings), isReadOnly: true, maxBytes: settings.stateMaxBytes })
  try {
    reserve(target)
    try {
      await fill(target, source)
      syncPath(target)
      syncPath(dirname(target))
      const { head_sequence } = readState(target, settings, (db) => verifyState(db))
      return done({ file: target, audit_events: head_sequence }, `The state was copied to ${target}.`)
    } catch (error) {
      rmSync(target, { force: true })
      throw error
    }
  } finally {
    source.close()
  }
}

async function fill(target: string, source: DatabaseSync): Promise<void> {
  const db = new DatabaseSync(target)
  try {
    await copyState(source, db)
  } finally {
    db.close()
  }
}

/** Never replaces a file. Only the owner can read the new one. */
function reserve(target: string): void {
  try {
    closeSync(openSync(target, 'wx', 0o600))
  } catch (error) {
    throw new StateError('the backup file exists already or cannot be written', { cause: error })
  }
}
