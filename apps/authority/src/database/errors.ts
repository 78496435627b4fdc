/** The database did not respond. Nothing is known to have happened; callers refuse. */
export class DatabaseUnavailableError extends Error {
  override readonly name: string = 'DatabaseUnavailableError'
}

/** The disk is full; stored rows can still be read. */
export class DiskFullError extends DatabaseUnavailableError {
  override readonly name = 'DiskFullError'
}

/** The role lacks a right. From PostgreSQL 15 on only the owner of a database may create tables in it. */
export class MissingRightError extends DatabaseUnavailableError {
  override readonly name = 'MissingRightError'
}

/** A lock was not acquired in time: another transaction is changing the same rows. */
export class LockTimeoutError extends Error {
  override readonly name = 'LockTimeoutError'
}

/** The connection died during COMMIT: the change may or may not be stored. Never guessed (reliability). */
export class UnknownOutcomeError extends Error {
  override readonly name = 'UnknownOutcomeError'
}
