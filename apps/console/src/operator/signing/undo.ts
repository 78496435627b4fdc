import { CallError } from '../client.ts'
import { showToast } from '../parts/toasts.ts'
import { reloadAll } from '../parts/use-live.ts'

/** Runs the way back of a toast. `work` signs at most one request and returns what is so now. */
export async function undo(work: () => Promise<string>): Promise<void> {
  try {
    showToast({ text: await work() })
  } catch (error) {
    if (!(error instanceof CallError)) throw error
    showToast({ text: `It was not undone: ${error.message}` })
  } finally {
    reloadAll()
  }
}
