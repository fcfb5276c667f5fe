// Everything of Asio that is not a template (Boost.Asio, "Optional separate compilation").
#include <boost/asio/impl/src.hpp>
