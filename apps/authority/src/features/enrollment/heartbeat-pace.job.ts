import { storePace } from '../../database/active-window.ts'
import type { EnrollmentState } from './state.ts'

/** Chooses the interval that this process asks nodes for, and reads how long nodes count as active. */
export async function chooseHeartbeatPace({ activeWindow, batches, clock, database }: EnrollmentState): Promise<void> {
  await batches.pace.choose((seconds) => database.write((tx) => storePace(tx, seconds, clock.now())))
  await activeWindow.refresh(database.read, clock.now())
}
