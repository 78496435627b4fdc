/** The stored text differs from the signed text. Nothing of it may be committed or returned. */
export class StoredDifferentlyError extends Error {
  override readonly name = 'StoredDifferentlyError'
}

/** Compares a stored record with the text that was signed, before COMMIT: a trigger or a lossy column would show here. */
export function assertStored(written: string, returned: string | undefined): void {
  if (written !== returned) throw storedDifferently()
}

export function storedDifferently(): StoredDifferentlyError {
  return new StoredDifferentlyError('the database changed a signed record')
}
