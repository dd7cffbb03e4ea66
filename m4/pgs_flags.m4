dnl pgs_flags.m4 - flags that are used when the tool chain knows them.
dnl SPDX-License-Identifier: ISC

dnl PGS_CHECK_CFLAG(FLAG, [IF-YES], [IF-NO]): add FLAG to PGS_CFLAGS.
AC_DEFUN([PGS_CHECK_CFLAG], [
AS_VAR_PUSHDEF([cache], [pgs_cv_cflag_$1])
AC_CACHE_CHECK([whether $CC knows $1], [cache], [
	pgs_save=$CFLAGS
	CFLAGS="$CFLAGS -Werror $1"
	AC_COMPILE_IFELSE([AC_LANG_PROGRAM()], [AS_VAR_SET([cache], [yes])],
	    [AS_VAR_SET([cache], [no])])
	CFLAGS=$pgs_save
])
AS_VAR_IF([cache], [yes], [PGS_CFLAGS="$PGS_CFLAGS $1"
	$2], [:
	$3])
AS_VAR_POPDEF([cache])
])

dnl PGS_CHECK_LDFLAG(FLAG): add FLAG to PGS_LDFLAGS.
AC_DEFUN([PGS_CHECK_LDFLAG], [
AS_VAR_PUSHDEF([cache], [pgs_cv_ldflag_$1])
AC_CACHE_CHECK([whether the linker knows $1], [cache], [
	pgs_save=$LDFLAGS
	pgs_save_c=$CFLAGS
	LDFLAGS="$LDFLAGS $1"
	CFLAGS="$CFLAGS $PGS_CFLAGS"
	AC_LINK_IFELSE([AC_LANG_PROGRAM()], [AS_VAR_SET([cache], [yes])],
	    [AS_VAR_SET([cache], [no])])
	LDFLAGS=$pgs_save
	CFLAGS=$pgs_save_c
])
AS_VAR_IF([cache], [yes], [PGS_LDFLAGS="$PGS_LDFLAGS $1"])
AS_VAR_POPDEF([cache])
])

dnl PGS_NEED_SANITIZER(OPTION, FLAGS): compile and link with FLAGS or refuse.
AC_DEFUN([PGS_NEED_SANITIZER], [
AC_MSG_CHECKING([whether $CC can link with $2])
pgs_save=$CFLAGS
CFLAGS="$CFLAGS $2"
AC_LINK_IFELSE([AC_LANG_PROGRAM()], [AC_MSG_RESULT([yes])],
    [AC_MSG_RESULT([no])
    AC_MSG_ERROR([$1: $CC cannot link with $2])])
CFLAGS=$pgs_save
PGS_CFLAGS="$PGS_CFLAGS $2"
])

dnl PGS_CHECK_LTO: PGS_LTO is what the programs are linked with, PGS_NO_LTO all
dnl else. The objects are good for both, so that the many tests link fast.
AC_DEFUN([PGS_CHECK_LTO], [
AC_MSG_CHECKING([whether $CC optimizes when it links])
pgs_save=$CFLAGS
CFLAGS="$CFLAGS -Werror -flto=auto -ffat-lto-objects"
AC_LINK_IFELSE([AC_LANG_PROGRAM()], [AC_MSG_RESULT([yes])
    PGS_CFLAGS="$PGS_CFLAGS -flto=auto -ffat-lto-objects"
    PGS_LTO=-flto=auto
    PGS_NO_LTO=-fno-lto], [AC_MSG_RESULT([no])])
CFLAGS=$pgs_save
])

dnl PGS_CHECK_FUZZER([IF-YES], [IF-NO]): does a libFuzzer target link?
AC_DEFUN([PGS_CHECK_FUZZER], [
AC_MSG_CHECKING([whether $CC links libFuzzer targets])
pgs_save=$CFLAGS
CFLAGS="$CFLAGS -fsanitize=fuzzer"
AC_LINK_IFELSE([AC_LANG_SOURCE([[
#include <stddef.h>
#include <stdint.h>
int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	(void)p;
	(void)n;
	return 0;
}
]])], [pgs_fuzzer=yes], [pgs_fuzzer=no])
CFLAGS=$pgs_save
AC_MSG_RESULT([$pgs_fuzzer])
AS_IF([test $pgs_fuzzer = yes], [$1
	:], [$2])
])

dnl PGS_CHECK_FORTIFY: the highest level that compiles without a warning
dnl (none when the optimizer is off).
AC_DEFUN([PGS_CHECK_FORTIFY], [
AC_CACHE_CHECK([for the level of _FORTIFY_SOURCE], [pgs_cv_fortify], [
	pgs_save=$CFLAGS
	pgs_cv_fortify=none
	for level in 3 2; do
		CFLAGS="$pgs_save -Werror -U_FORTIFY_SOURCE"
		CFLAGS="$CFLAGS -D_FORTIFY_SOURCE=$level"
		AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[
#include <string.h>
#if !defined(__USE_FORTIFY_LEVEL) || __USE_FORTIFY_LEVEL < _FORTIFY_SOURCE
#error "not this level"
#endif
]])], [pgs_cv_fortify=$level; break])
	done
	CFLAGS=$pgs_save
])
AS_IF([test "$pgs_cv_fortify" != none], [
	PGS_CFLAGS="$PGS_CFLAGS -U_FORTIFY_SOURCE"
	PGS_CFLAGS="$PGS_CFLAGS -D_FORTIFY_SOURCE=$pgs_cv_fortify"
])
])
