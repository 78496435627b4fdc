import { type JsonObject, writeJson } from '@chancery/protocol'
import { CommandError } from '../../errors/failure.ts'
import { replaceServiceFile, typed } from '../../files/files.ts'
import { loadJsonObject } from '../../files/json-file.ts'

const POLICY_LIMITS = { maxDepth: 32, maxValues: Number.MAX_SAFE_INTEGER, maxNames: Number.MAX_SAFE_INTEGER }

export function loadPolicyFile(cwd: string, path: string): Promise<JsonObject> {
  return loadJsonObject(cwd, path, POLICY_LIMITS)
}

/**
 * Replaces a policy. A policy that has changed since it was loaded is not replaced: a key that another process pinned
 * or removed meanwhile would be lost.
 */
export async function replacePolicy(cwd: string, path: string, before: JsonObject, text: string): Promise<void> {
  if (writeJson(await loadPolicyFile(cwd, path)) !== writeJson(before))
    throw new CommandError({
      code: 'file_changed',
      message: `${typed(cwd, path)} was changed by another process. Nothing was written.`,
      hint: 'Run the same command again.',
    })
  await replaceServiceFile(path, text)
}
