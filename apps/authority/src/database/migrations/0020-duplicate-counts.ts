import type { Migration } from '../migration.ts'

/** How many repeated submissions of evidence became audit events in the current minute and day, over all instances. */
export const duplicateCounts: Migration = {
  version: 20,
  async up(tx) {
    await tx
      .insertInto('evidence_rejection_counts')
      .values(['duplicate-minute', 'duplicate-day'].map((span) => ({ span, number: 0, singles: 0 })))
      .execute()
  },
}
