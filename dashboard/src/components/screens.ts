import type { IconName } from './Icon.tsx'

/** The screens in the order of the menu, with the letter that follows `g`. */
export const screens = [
  { path: '/', title: 'Overview', key: 'o', icon: 'overview' },
  { path: '/queues', title: 'Queues', key: 'q', icon: 'queues' },
  { path: '/jobs', title: 'Jobs', key: 'j', icon: 'jobs' },
  { path: '/dead', title: 'Dead letters', key: 'd', icon: 'dead' },
  { path: '/operations', title: 'Operations', key: 'p', icon: 'operations' },
  { path: '/schedules', title: 'Schedules', key: 's', icon: 'scheduled' },
  { path: '/flows', title: 'Flows', key: 'f', icon: 'flows' },
  { path: '/workers', title: 'Workers', key: 'w', icon: 'workers' },
  { path: '/limits', title: 'Limits & breakers', key: 'l', icon: 'limits' },
  { path: '/audit', title: 'Audit', key: 'u', icon: 'audit', action: 'audit' },
  { path: '/system', title: 'System', key: 'y', icon: 'doctor' },
] as const satisfies readonly { path: string; title: string; key: string; icon: IconName; action?: string }[]
