/** What the database gave back is not what was to be kept: nothing of it may be committed or answered. */
export class StoredDifferentlyError extends Error {
  override readonly name = 'StoredDifferentlyError'
}

/** Compares a stored record with the text that was signed, before COMMIT: a trigger or a lossy column would show here. */
export function assertStored(written: string, returned: string | undefined): void {
  if (written !== returned) throw new StoredDifferentlyError('the database changed a signed record')
}
