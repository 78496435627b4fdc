import type { JsonObject, JsonValue } from '@chancery/protocol'
import { CallError, type Target, send } from '../client.ts'
import { type Toast, showToast } from '../parts/toasts.ts'
import { reloadAll } from '../parts/use-live.ts'
import { makePayload } from './payload.ts'

/** Signs and sends the one request of a way back. */
export type SendUndo = (target: Target, body: JsonObject) => Promise<JsonValue>

/**
 * Runs the way back of a toast. `work` signs at most one request and returns what is so now. `check` is the page that
 * shows whether it happened.
 */
export async function undo(
  work: (change: SendUndo) => Promise<string>,
  check: NonNullable<Toast['link']>,
): Promise<void> {
  let isSent = false
  try {
    const text = await work((target, body) => {
      isSent = true
      return send(makePayload({ method: 'POST', target, body }))
    })
    showToast({ text })
  } catch (error) {
    if (!(error instanceof CallError)) throw error
    showToast(undoFailure(error, isSent, check))
  } finally {
    reloadAll()
  }
}

const UNKNOWN_MS = 30_000

/** What a failed way back reports. Without a response to the change, the console cannot state whether it happened. */
export function undoFailure(error: CallError, isSent: boolean, check: NonNullable<Toast['link']>): Toast {
  if (!isSent || !error.isUncertain) return { text: `It was not undone: ${error.message}` }
  return {
    text: 'It is not certain whether it was undone. No usable response came.',
    more: 'Check it before you do it again.',
    link: check,
    ms: UNKNOWN_MS,
  }
}
