/** What the database gave back is not what was to be kept: nothing of it may be committed or answered. */
export class NotKept extends Error {
  override readonly name = 'NotKept'
}

/** Compares a stored record with the text that was signed, before COMMIT: a trigger or a lossy column would show here. */
export function assertKept(written: string, returned: string | undefined): void {
  if (written !== returned) throw new NotKept('the database changed a signed record')
}
